import { join } from 'node:path'
import Database from 'libsql'
import { describe, expect, it } from 'vitest'
import { orderNumbers } from '../../examples/agents/order-numbers.js'
import { openOrders } from '../../examples/agents/order-table.js'
import { temporaryFolder } from '../process/server-process.js'

describe('the table of orders', () => {
  it('is created and filled at the first start', async () => {
    await using folder = await temporaryFolder()
    const orders = openOrders(join(folder.path, 'deep', 'orders.sqlite'))
    expect(orders.find('ORDER_001')).toEqual({
      id: 'ORDER_001',
      product: '云边茉莉',
      productEn: 'Cloudside Jasmine',
      price: 1800,
      status: 'shipped',
    })
    expect(orders.find('ORDER_999')).toBeUndefined()
    expect(orders.all().length).toBeGreaterThan(2)
    orders.close()
  })

  it('is not changed by later starts', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'orders.sqlite')
    openOrders(path).close()
    const database = new Database(path)
    database.exec("DELETE FROM orders WHERE id = 'ORDER_002'; UPDATE orders SET price = 1 WHERE id = 'ORDER_001'")
    database.close()
    const orders = openOrders(path)
    expect([orders.find('ORDER_001')?.price, orders.find('ORDER_002')]).toEqual([1, undefined])
    orders.close()
  })

  it('can be opened twice', async () => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'orders.sqlite')
    const [one, other] = [openOrders(path), openOrders(path)]
    expect(other.all()).toEqual(one.all())
    one.close()
    other.close()
  })
})

describe('orderNumbers', () => {
  it.each([
    ['查询订单 ORDER_001', ['ORDER_001']],
    ['order-2 and Order 3, please', ['ORDER_002', 'ORDER_003']],
    ['订单号：12', ['ORDER_012']],
    ['ORDER_001 ORDER_001', ['ORDER_001']],
    ['I have 2 questions', []],
    ["ORDER_001' OR '1'='1", ['ORDER_001']],
  ])('finds the numbers in %j', (text, numbers) => {
    expect(orderNumbers(text)).toEqual(numbers)
  })

  it('accepts a bare number as an answer', () => {
    expect(orderNumbers('2', { isAnswer: true })).toEqual(['ORDER_002'])
  })
})
