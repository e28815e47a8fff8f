import fc from 'fast-check'
import t from 'tap'
import { PatternFilter, type PatternRule } from '../../lib/guards/pattern-filter.ts'
import { replaceInSlices } from '../../lib/guards/replace-in-slices.ts'
import { replaceFindings, type PlaceFilters } from '../../lib/guards/text-filter.ts'
import { GuardFindings, type Finding } from '../../lib/core/guard-findings.ts'
import { fixed, text, PlaceTable } from '../../lib/json/place-table.ts'
import { boundedPattern } from '../../lib/text/bounded-pattern.ts'
import { holdsAsync } from '../support/property.ts'

const rules: readonly PatternRule[] = [
  { guard: 'codes', action: 'mask', label: 'code', pattern: boundedPattern('C\\d{4,12}', 13) }
]
const places = new PlaceTable({ '[].text': text, '[].signed': fixed })

function filters (): PlaceFilters & { readonly findings: GuardFindings } {
  const findings = new GuardFindings()
  const filter = new PatternFilter(rules, 'request', findings)
  return {
    findings,
    at: () => filter,
    replace: (text, { kind }) => replaceFindings(filter, text, kind === 'fixed')
  }
}

const countOf = ({ action, count }: Finding): string => `${action} ${count}`

const pieces = fc.constantFrom('C1234', 'C12', '34567', ' and ', 'x'.repeat(20_000), 'C', 'y'.repeat(65_530))
const texts = fc.array(fc.array(pieces, { maxLength: 12 }).map(parts => parts.join('')), { maxLength: 5 })

t.test('a large value gives the same result in slices, and each finding is counted once', async t => {
  await holdsAsync(t, fc.asyncProperty(texts, async said => {
    const value = said.map(text => ({ text }))
    const [inSlices, atOnce] = [filters(), filters()]
    const replaced = await replaceInSlices(
      value,
      inSlices,
      (value, replace) => places.replace(value, replace)
    )
    const expected = places.replace(value, atOnce.replace)
    return JSON.stringify(replaced) === JSON.stringify(expected) &&
      inSlices.findings.found.map(countOf).join() === atOnce.findings.found.map(countOf).join()
  }), { numRuns: 100 })
})

t.test('a finding that cannot be replaced refuses, and an abort is checked in each turn', async t => {
  const long = 'x'.repeat(200_000)
  const replaceTexts = (value: object, replace: PlaceFilters['replace']): object =>
    places.replace(value, replace)
  await t.rejects(replaceInSlices([{ signed: `${long}C1234` }], filters(), replaceTexts), {
    code: 'content_refused'
  })
  const left = new Error('the caller left')
  const leave = (): never => {
    throw left
  }
  await t.rejects(replaceInSlices([{ text: long }], filters(), replaceTexts, leave), left)
})
