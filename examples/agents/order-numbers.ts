/** Finds ORDER_001, order-1 and 订单 1. In an answer to a question for the number, digits alone are enough. */
export function orderNumbers(text: string, { isAnswer = false }: { isAnswer?: boolean } = {}) {
  const named = [...text.matchAll(/(?:order|订单)[\s_#号:：-]*(\d{1,9})/gi)].map(([, digits]) => digits)
  const bare = isAnswer ? (text.match(/\d{1,9}/g) ?? []) : []
  const numbers = named.length > 0 ? named : bare
  return [...new Set(numbers.map((digits = '') => `ORDER_${String(Number(digits)).padStart(3, '0')}`))]
}
