import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type AddressClass, addressKey, classifyAddress, classifyHost, isSameHost } from './addresses.js'

describe('classifyHost', () => {
  const cases: readonly (readonly [AddressClass | 'name', readonly string[]])[] = [
    ['loopback', ['localhost', 'LOCALHOST.', 'a.b.localhost', '127.0.0.1', '127.255.255.254', '0.0.0.0', '0', '[::]']],
    ['loopback', ['127.1', '2130706433', '0x7f000001', '0177.0.0.1', '0x7f.1', '127.0.0.1.', '①②⑦.0.0.1']],
    ['loopback', ['::1', '[::1]', '[::ffff:127.0.0.1]', '::ffff:7f00:1', '[::127.0.0.1]', '[64:ff9b::127.0.0.1]']],
    ['loopback', ['[2002:7f00:1::]', '[::ffff:0:127.0.0.1]', '[2a00::5efe:127.0.0.1]']],
    [
      'private',
      ['10.0.0.1', '172.16.0.1', '172.31.255.255', '192.168.1.1', '100.64.0.1', '100.127.255.255', '0.1.2.3'],
    ],
    [
      'private',
      ['224.0.0.1', '239.255.255.255', '240.0.0.1', '255.255.255.255', '192.0.2.1', '198.19.0.1', '192.0.0.8'],
    ],
    [
      'private',
      ['[fc00::1]', '[fd12:3456::1]', '[ff02::1]', '[2001:db8::1]', '[2001::1]', '[::ffff:10.0.0.1]', '[100::1]'],
    ],
    [
      'private',
      [
        '',
        '١٢٧.0.0.1',
        'a b',
        'a/b',
        'a@127.0.0.1',
        '256.256.256.256',
        '1.2.3.4.5',
        '[::1',
        '[::g]',
        'a:80',
        '99999999999',
      ],
    ],
    [
      'link-local',
      ['169.254.169.254', '0xa9fea9fe', '2852039166', '0251.0376.0251.0376', '169.254.43518', '100.100.100.200'],
    ],
    [
      'link-local',
      ['[fe80::1]', '[fd00:ec2::254]', '[::ffff:169.254.169.254]', '[64:ff9b::a9fe:a9fe]', '[2002:a9fe:a9fe::1]'],
    ],
    [
      'public',
      ['8.8.8.8', '1.1.1.1', '172.15.0.1', '172.32.0.1', '100.63.0.1', '100.128.0.1', '126.0.0.1', '128.0.0.1'],
    ],
    ['public', ['[2606:4700::1111]', '[::ffff:8.8.8.8]', '[64:ff9b::808:808]', '[2a00:1450::5]', '223.255.255.255']],
    ['name', ['example.com', 'localhost.example.com', 'notlocalhost', 'agent', 'münchen.example', 'a-b.c_d']],
  ]

  it.each(cases.flatMap(([expected, hosts]) => hosts.map((host) => [host, expected] as const)))(
    'takes %s for %s',
    (host, expected) => expect(classifyHost(host)).toBe(expected),
  )

  const spellings = ([a, b, c, d]: readonly [number, number, number, number]) => {
    const whole = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0
    const octet = (value: number) =>
      fc.constantFrom(String(value), `0${value.toString(8)}`, `0x${value.toString(16)}`, `0X00${value.toString(16)}`)
    const tail = (value: number) => fc.constantFrom(String(value), `0x${value.toString(16)}`, `0${value.toString(8)}`)
    const hex = (high: number, low: number) => ((high << 8) | low).toString(16)
    return fc.oneof(
      tail(whole),
      fc.tuple(octet(a), tail(whole & 0xffffff)).map((parts) => parts.join('.')),
      fc.tuple(octet(a), octet(b), tail(whole & 0xffff)).map((parts) => parts.join('.')),
      fc.tuple(octet(a), octet(b), octet(c), octet(d)).map((parts) => parts.join('.')),
      fc.constantFrom(
        `::ffff:${a}.${b}.${c}.${d}`,
        `[::FFFF:${hex(a, b)}:${hex(c, d)}]`,
        `0:0:0:0:0:ffff:${a}.${b}.${c}.${d}`,
      ),
      fc.constantFrom(`[64:ff9b::${hex(a, b)}:${hex(c, d)}]`, `[2002:${hex(a, b)}:${hex(c, d)}::7]`),
    )
  }

  it('recognises every notation of 127.0.0.1', () => {
    fc.assert(fc.property(spellings([127, 0, 0, 1]), (host) => classifyHost(host) === 'loopback'))
  })

  it('recognises every notation of 169.254.169.254', () => {
    fc.assert(fc.property(spellings([169, 254, 169, 254]), (host) => classifyHost(host) === 'link-local'))
  })

  it('never throws, for any input', () => {
    const anything = fc.oneof(fc.string(), fc.string({ unit: 'binary' }), fc.ipV4Extended(), fc.ipV6(), fc.domain())
    fc.assert(
      fc.property(anything, (host) => {
        expect(['public', 'private', 'link-local', 'loopback', 'name']).toContain(classifyHost(host))
        expect(classifyAddress(host)).not.toBe('name')
        expect(isSameHost(host, 'other.example')).toBe(false)
      }),
    )
  })

  it('agrees with itself on an address and its embedded form', () => {
    fc.assert(fc.property(fc.ipV4(), (address) => classifyHost(`[::ffff:${address}]`) === classifyHost(address)))
  })
})

describe('isSameHost', () => {
  it.each([
    ['a.example', 'A.example', true],
    ['a.example', 'a.example.', true],
    ['localhost', '127.0.0.1', true],
    ['0.0.0.0', '[::1]', true],
    ['127.0.0.2', 'a.localhost', true],
    ['a.example', 'b.example', false],
    ['a.example', 'a.example.evil.test', false],
    ['10.0.0.1', '10.0.0.2', false],
    ['', '', false],
  ])('compares %s and %s', (one, other, expected) => expect(isSameHost(one, other)).toBe(expected))
})

describe('classifyAddress', () => {
  it('reads addresses with a zone', () => {
    expect(classifyAddress('fe80::1%eth0')).toBe('link-local')
  })
})

describe('addressKey', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8:1:2::9', '2001:db8:1:2::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['::1', '0:0:0:0::/64'],
    ['', ''],
  ])('counts %s as %s', (address, key) => {
    expect(addressKey(address)).toBe(key)
  })
})
