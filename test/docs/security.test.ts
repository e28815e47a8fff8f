/** Checks that the tests named in docs/security.md and docs/reliability.md exist. */

import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../../..')
const read = (name: string): string => readFileSync(join(root, name), 'utf8')

/** Names of the scenarios of `npm run soak`. */
const scenarios = readdirSync(join(root, 'bench/soak')).flatMap(
  name => /: Scenario = \{\n  name: '([^']+)'/.exec(read(`bench/soak/${name}`))?.[1] ?? []
)

/** Returns what a cell names but does not exist. `cell` is like "`FILE`: TITLE; TITLE; soak: SCENARIO". */
function missing (cell: string): string[] {
  let file = ''
  return cell.split('; ').flatMap(part => {
    const [, scenario] = /^soak: (.+)$/.exec(part) ?? []
    if (scenario !== undefined) {
      return scenarios.some(name => name.startsWith(scenario)) ? [] : [`the scenario "${scenario}"`]
    }
    const [, named, rest = part] = /^`([^`]+)`(?:: (.+))?$/.exec(part) ?? []
    if (named === undefined) return file !== '' && hasTest(file, rest) ? [] : [`"${rest}" in ${file}`]
    file = named
    if (!isThere(file)) return [file]
    return rest === part || hasTest(file, rest) ? [] : [`"${rest}" in ${file}`]
  })
}

function isThere (file: string): boolean {
  if (!file.includes('*')) return existsSync(join(root, file))
  const [folder = '', pattern = ''] = file.split(/\/(?=[^/]*\*)/)
  return readdirSync(join(root, folder)).some(name => name.endsWith(pattern.replace('*', '')))
}

/** Finds a quoted title, or the end of a template title that is used for each row of a table. */
function hasTest (file: string, title: string): boolean {
  if (!existsSync(join(root, file))) return false
  const text = read(file).replaceAll(/est\(\n\s*/g, 'est(')
  const quoted = title.includes('\'') ? `"${title}"` : `'${title}'`
  return ['test', 'Test'].some(name => text.includes(`${name}(${quoted}`)) || text.includes(`} ${title}\``)
}

/** Returns the last cell of each row in tables whose last column has this heading. */
function lastCells (page: string, heading: string): string[] {
  const cells: string[] = []
  let isWanted = false
  for (const line of page.split('\n')) {
    const row = /^\|(.*)\|$/.exec(line)?.[1]?.split('|').map(cell => cell.trim())
    const last = row?.at(-1)
    if (last === undefined) isWanted = false
    else if (last === heading) isWanted = true
    else if (isWanted && last !== '' && !last.startsWith('---')) cells.push(last)
  }
  return cells
}

t.test('every test named in docs/security.md exists', async t => {
  const cells = lastCells(read('docs/security.md'), 'Shown by')
  t.ok(cells.length > 15)
  for (const cell of cells) t.same(missing(cell), [], cell)
})

t.test('every test named in docs/reliability.md exists', async t => {
  const cells = lastCells(read('docs/reliability.md'), 'Test')
  t.ok(cells.length > 8)
  for (const cell of cells) t.same(missing(cell.replaceAll(', ', '; ')), [], cell)
})

t.test('every soak scenario has a guarantee in docs/reliability.md', async t => {
  const page = read('docs/reliability.md')
  t.ok(scenarios.length > 8)
  for (const name of scenarios) t.ok(page.includes(`\n| ${name} | `), name)
})

const value = /\$\{[^}]*\}/

const escaped = (text: string): string => text.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`)

/** Returns a pattern for the output of a template, with a group for each value. */
function printedBy (template: string): RegExp {
  return new RegExp(`^${template.split(value).map(escaped).join('(.+)')}$`)
}

/**
 * Returns the source of a scenario, the guarantees that it prints, and all its texts, such as names of
 * inputs.
 */
function soakSource (scenario: string) {
  const sources = readdirSync(join(root, 'bench/soak')).map(name => read(`bench/soak/${name}`))
  const source = sources.find(text => text.includes(`: Scenario = {\n  name: '${scenario}'`)) ?? ''
  const quoted = String.raw`'([^'\n]+)'|${'`'}([^${'`'}\n]+)${'`'}`
  const printed = (pattern: string): RegExp[] => {
    const all = source.matchAll(new RegExp(pattern, 'g'))
    const templates = Array.from(all, ([, text, template]) => text ?? template ?? '')
    return templates.filter(text => text.split(value).join('').length > 5).map(printedBy)
  }
  return { source, promises: printed(String.raw`finding\((?:${quoted})`), texts: printed(quoted) }
}

t.test('docs/reliability.md states the guarantees of the soak with their limits', async t => {
  const page = read('docs/reliability.md')
  const measurements = page.slice(page.indexOf('## Measured'))
  const lines = measurements.matchAll(/^\| (.+?) \| (.+?) \| (?:yes|\*\*no\*\*) \| .+ \|$/gm)
  const rows = Array.from(lines, ([, scenario = '', promise = '']) => ({ scenario, promise }))
  t.same(rows.filter(row => !scenarios.includes(row.scenario)), [])
  for (const scenario of scenarios) {
    const measured = rows.filter(row => row.scenario === scenario).map(({ promise }) => promise)
    const { source, promises, texts } = soakSource(scenario)
    t.not(measured.length, 0, scenario)
    for (const promise of measured) {
      const has = (value: string): boolean => new RegExp(`(?<!\\w)${escaped(value)}(?!\\w)`).test(source)
      const prints = (text: RegExp): boolean => text.exec(promise)?.slice(1).every(has) === true
      t.ok([...promises, ...texts].some(prints), `${scenario} prints "${promise}"`)
    }
    for (const promise of promises) {
      t.ok(measured.some(row => promise.test(row)), `the page has ${String(promise)} of ${scenario}`)
    }
  }
})

t.test('a missing test is detected', async t => {
  const [file, title] = ['test/docs/security.test.ts', 'a missing test is detected']
  t.same(missing(`\`${file}\`: ${title}; soak: ${scenarios[0]}`), [])
  t.same(missing(`\`${file}\`: ${title} twice`), [`"${title} twice" in ${file}`])
  t.same(missing('`test/docs/none.test.ts`'), ['test/docs/none.test.ts'])
  t.same(missing('soak: nothing'), ['the scenario "nothing"'])
})
