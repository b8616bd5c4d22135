/** ORDER_001, order-1, 订单 1; a bare number will do when we asked for one. */
export function orderNumbers(text: string, { isAnswer = false }: { isAnswer?: boolean } = {}) {
  const named = [...text.matchAll(/(?:order|订单)[\s_#号:：-]*(\d{1,9})/gi)].map(([, digits]) => digits)
  const bare = isAnswer ? (text.match(/\d{1,9}/g) ?? []) : []
  const numbers = named.length > 0 ? named : bare
  return [...new Set(numbers.map((digits = '') => `ORDER_${String(Number(digits)).padStart(3, '0')}`))]
}
