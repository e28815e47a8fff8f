import { randomBytes } from 'node:crypto'
import fc from 'fast-check'
import t from 'tap'
import { KeyedPlaceholders } from '../../lib/guards/keyed-placeholders.ts'
import { GuardFindings } from '../../lib/core/guard-findings.ts'
import { PatternFilter, type PatternRule } from '../../lib/guards/pattern-filter.ts'
import { LookalikeFilter, PlaceholderFilter } from '../../lib/guards/placeholder-filter.ts'
import { TextFilters } from '../../lib/guards/text-guards.ts'
import { replaceFindings } from '../../lib/guards/text-filter.ts'
import { boundedPattern } from '../../lib/text/bounded-pattern.ts'
import { fixed, text } from '../../lib/json/place-table.ts'
import { holds } from '../support/property.ts'
import { routedCall } from '../support/stages.ts'

const secret = randomBytes(32)
const email = boundedPattern('[a-z]{3}@example\\.(?:com|org)', 20)
const rules: readonly PatternRule[] = [
  { guard: 'people', action: 'mask', label: 'email', pattern: email, isReversible: true },
  {
    guard: 'people',
    action: 'mask',
    label: 'ticket-id',
    pattern: boundedPattern('TCK-\\d+', 6),
    isReversible: true
  },
  { guard: 'other', action: 'mask', label: 'gone', pattern: boundedPattern('never back', 20) }
]

function begin (keyId = 'one'): KeyedPlaceholders {
  return new KeyedPlaceholders(secret, { keyId, projectId: 'default' })
}

function masked (said: string, placeholders: KeyedPlaceholders): string {
  const escaped = replaceFindings(new LookalikeFilter(placeholders), said)
  return replaceFindings(new PatternFilter(rules, 'request', new GuardFindings(), placeholders), escaped)
}

function restored (said: string, placeholders: KeyedPlaceholders): string {
  return new PlaceholderFilter(placeholders).replace(said, text)
}

const values = fc.constantFrom('ada@example.com', 'bob@example.org', 'TCK-1234', 'TCK-99')
const lookalikes = fc.constantFrom(
  '<EMAIL_k7q2m3xw>',
  '<TEXT_aaaaaaaa>',
  '<TICKET_ID_abcdefgh>',
  '<A_22222222>'
)
const words = fc.constantFrom(
  '\\<',
  '&gt;',
  'Mail ',
  ' and\n',
  '. ',
  '**',
  '"',
  '`',
  '&lt;',
  '<',
  '>',
  ' EMAIL ',
  '_',
  'größer ',
  '\\'
)

t.test('any text is restored unchanged, and no value is sent', t => {
  holds(
    t,
    fc.property(fc.array(fc.oneof(values, lookalikes, words), { maxLength: 20 }), pieces => {
      const placeholders = begin()
      const said = pieces.join('')
      const sent = masked(said, placeholders)
      // Patterns may miss values; those found must not be visible.
      for (const name of sent.match(/<[A-Z_]+_[a-z2-7]{8,}>/g) ?? []) {
        if (placeholders.valueOf(name) === undefined) return false
      }
      return restored(sent, placeholders) === said && !/@example|TCK-\d/.test(sent)
    }),
    { numRuns: 1000 }
  )
  t.end()
})

const edits: ReadonlyArray<
  readonly [what: string, edit: (name: string) => string, left?: (value: string) => string]
> = [
  ['unchanged', name => name],
  ['in lower case', name => name.toLowerCase()],
  ['in upper case', name => name.toUpperCase()],
  ['without brackets', name => name.slice(1, -1)],
  ['in other brackets', name => `[${name.slice(1, -1)}]`, value => `[${value}]`],
  ['with spaces in brackets', name => `< ${name.slice(1, -1)} >`],
  ['with spaces for underscores', name => name.replaceAll('_', ' ')],
  ['with hyphens', name => name.replaceAll('_', '-')],
  ['escaped for Markdown', name => name.replaceAll('_', '\\_').replace('<', '\\<').replace('>', '\\>')],
  ['escaped for HTML', name => name.replace('<', '&lt;').replace('>', '&gt;')],
  ['in quotes', name => `"${name}"`, value => `"${value}"`],
  ['as code', name => `\`${name}\``, value => `\`${value}\``],
  ['in bold', name => `**${name.slice(1, -1)}**`, value => `**${value}**`],
  ['before a letter', name => `${name}s`, value => `${value}s`]
]

t.test('a placeholder that a model has altered is restored', t => {
  const placeholders = begin()
  for (const value of ['ada@example.com', 'TCK-1234']) {
    const name = masked(value, placeholders)
    for (const [what, edit, left = (value: string) => value] of edits) {
      t.equal(restored(`To ${edit(name)}, now`, placeholders), `To ${left(value)}, now`, `${name} ${what}`)
    }
  }
  t.end()
})

t.test('text that is not a placeholder of this conversation is unchanged', t => {
  const [own, other] = [begin(), begin('two')]
  const name = masked('ada@example.com', own)
  masked('bob@example.org', other)
  for (const said of [
    name,
    'EMAIL_aaaaaaaa',
    '<EMAIL_short>',
    `x${name.slice(1, -1)}`,
    `${name.slice(1, -1)}x`,
    `${name.slice(1, -2)}>`
  ]) {
    t.equal(restored(said, other), said)
    if (said !== name) t.equal(restored(said, own), said)
  }
  t.end()
})

t.test("conversations never see each other's values", t => {
  const said = fc.array(fc.oneof(values, words), { maxLength: 10 }).map(pieces => pieces.join(''))
  holds(
    t,
    fc.property(said, said, fc.boolean(), (one, two, sameKey) => {
      const [first, second] = [begin(), begin(sameKey ? 'one' : 'two')]
      const [sent] = [masked(one, first), masked(two, second)]
      const shown = restored(sent, second)
      const seen = ['ada@example.com', 'bob@example.org', 'TCK-1234', 'TCK-99'].filter(value =>
        shown.includes(value)
      )
      return seen.every(value => sameKey && two.includes(value))
    }),
    { numRuns: 500 }
  )
  t.end()
})

t.test(
  'placeholders of a continued response are kept, and lookalikes are escaped where possible',
  t => {
    const before = begin()
    const name = masked('ada@example.com', before)
    const after = begin()
    after.join(before.sealed() ?? '')
    const sent = masked(`${name} <EMAIL_aaaaaaaa>`, after)
    t.match(sent, new RegExp(`^${name} <TEXT_[a-z2-7]{8}>$`))
    t.equal(restored(sent, after), 'ada@example.com <EMAIL_aaaaaaaa>')
    t.equal(new PlaceholderFilter(after).at(fixed), undefined)
    const layer = { kind: 'filters', filter: () => new LookalikeFilter(after) } as const
    t.equal(new TextFilters(layer, routedCall({}), 'request').at(fixed), undefined)
    t.end()
  }
)

t.test('a label added later is found too', t => {
  const placeholders = begin()
  const filter = new PlaceholderFilter(placeholders)
  const name = masked('ada@example.com', placeholders)
  t.equal(filter.replace(name, text), 'ada@example.com')
  const { reach } = filter
  const other = masked('TCK-77', placeholders)
  t.equal(filter.replace(`${other} ${name}`, text), 'TCK-77 ada@example.com')
  t.ok(filter.reach > reach)
  t.ok(filter.reach > `&lt; ${other.slice(1, -1).replaceAll('_', '\\_')} &gt;`.length)
  t.end()
})
