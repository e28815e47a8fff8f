import t from 'tap'
import { builtInNames, builtInPatterns, type BuiltInName } from '../../lib/guards/built-in-patterns.ts'
import { GuardFindings } from '../../lib/core/guard-findings.ts'
import { PatternFilter } from '../../lib/guards/pattern-filter.ts'
import { replaceFindings } from '../../lib/guards/text-filter.ts'

function masked (name: BuiltInName, text: string): string {
  return replaceFindings(
    new PatternFilter(
      [{ guard: 's', action: 'mask', label: 'X', pattern: builtInPatterns[name] }],
      'request',
      new GuardFindings()
    ),
    text
  )
}

/** Texts and their masked results: numbers are made up, or official examples. */
const rows: Readonly<Record<BuiltInName, ReadonlyArray<readonly [text: string, expected: string]>>> = {
  card_number: [
    ['my card 4111 1111 1111 1111 12/27.', 'my card [X] 12/27.'],
    ['4111-1111-1111-1111', '[X]'],
    ['4111\u00a01111\u00a01111\u202f1111', '[X]'],
    ['378282246310005', '[X]'],
    ['6011000990139424,5555555555554444', '[X],[X]'],
    ['4111 1111 1111 1112', '4111 1111 1111 1112'],
    ['order 12344111111111111111', 'order 12344111111111111111'],
    ['0000000000000000', '0000000000000000'],
    ['1.4111111111111111', '1.4111111111111111']
  ],
  iban: [
    ['to DE89 3704 0044 0532 0130 00 today', 'to [X] today'],
    ['GB82WEST12345698765432', '[X]'],
    ['DE89\u00a03704\u00a00044\u00a00532\u00a00130\u00a000', '[X]'],
    ['fr1420041010050500013m02606', '[X]'],
    ['DE89370400440532013001', 'DE89370400440532013001']
  ],
  email: [
    ['mail ann.lee+x@mail.example.com!', 'mail [X]!'],
    ['<a@b.co>', '<[X]>'],
    ['@b.co a@b a@.co', '@b.co a@b a@.co'],
    ['a..b@c.org', 'a..b@c.org']
  ],
  phone: [
    ['call +49 (30) 901820 now', 'call [X] now'],
    ['+1-202-555-0143', '[X]'],
    ['+49\u00a030\u00a0901820', '[X]'],
    ['0044 20 7946 0958', '[X]'],
    ['+12', '+12'],
    ['2+24 35', '2+24 35']
  ],
  ip_address: [
    ['at 192.168.0.1, port', 'at [X], port'],
    ['2001:db8::8a2e:370:7334', '[X]'],
    ['256.1.1.1', '256.1.1.1'],
    ['1.2.3.4.5', '1.2.3.4.5'],
    ['12:30:45', '12:30:45'],
    ['aa:bb:cc:dd:ee:ff', 'aa:bb:cc:dd:ee:ff']
  ],
  us_ssn: [
    ['078-05-1120', '[X]'],
    [
      '000-12-3456 900-12-3456 123-00-4567 123-45-0000 1-123-45-6789',
      '000-12-3456 900-12-3456 123-00-4567 123-45-0000 1-123-45-6789'
    ]
  ],
  uk_nino: [
    ['AB 12 34 56 C', '[X]'],
    ['ab123456c', '[X]'],
    ['BG123456C AB123456E', 'BG123456C AB123456E']
  ],
  es_dni: [
    ['12345678Z', '[X]'],
    ['X1234567L', '[X]'],
    ['12345678A', '12345678A']
  ],
  fr_insee: [
    ['1 84 12 76 451 089 46', '[X]'],
    ['184127645108946', '[X]'],
    ['184127645108947', '184127645108947']
  ],
  de_tax_id: [
    ['86 095 742 719', '[X]'],
    ['47036892816', '[X]'],
    ['86095742718', '86095742718'],
    ['12345678901', '12345678901']
  ],
  api_key: [
    ['key sk-ant-api03-abcdefghijklmnopqrst.', 'key [X].'],
    ['AKIAIOSFODNN7EXAMPLE', '[X]'],
    [`ghp_${'a1'.repeat(18)}`, '[X]'],
    ['sk-short task-abcdefghijklmnopqrstuvwxyz', 'sk-short task-abcdefghijklmnopqrstuvwxyz']
  ]
}

for (const name of builtInNames) {
  t.test(`${name} finds real values, and not those that only look similar`, t => {
    for (const [text, expected] of rows[name]) t.equal(masked(name, text), expected, text)
    t.end()
  })
}

t.test('no match is longer than the stated maximum', t => {
  for (const name of builtInNames) {
    const { expression, maxLength } = builtInPatterns[name]
    for (const [text] of rows[name]) {
      for (const [match] of text.matchAll(new RegExp(expression, 'g'))) {
        t.ok(match.length <= maxLength, `${name}: ${match}`)
      }
    }
  }
  t.end()
})
