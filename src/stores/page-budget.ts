/** The first of the items that come to no more than the budget together; the very first one whatever its size is. */
export function withinBudget<Item>(
  items: readonly Item[],
  budget: number | undefined,
  sizeOf: (item: Item) => number,
): readonly Item[] {
  if (budget === undefined) return items
  let size = 0
  const end = items.findIndex((item, place) => {
    size += sizeOf(item)
    return place > 0 && size > budget
  })
  return end < 0 ? items : items.slice(0, end)
}
