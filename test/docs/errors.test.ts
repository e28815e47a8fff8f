import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { codes } from '../../lib/core/errors.ts'
import { errorReference } from './errors.ts'

t.test('docs/errors.md is up to date with `npm run docs`', async t => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/errors.md'), 'utf8')
  t.equal(page, errorReference())
  for (const code of Object.keys(codes)) t.match(page, `## \`${code}\``)
})

t.test('codes that exist in a single API are documented too', async t => {
  const folder = join(import.meta.dirname, '../../../lib/dialects')
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(name =>
    name.endsWith('.ts')
  )
  const shown = files.flatMap(name => [...read(name).matchAll(/shownCode: '(\w+)'/g)])
  const [ofShapes = ''] = /^function codeOf [^]*?^}/m.exec(read('../core/errors.ts')) ?? []
  const returned = [read('responses/errors.ts'), ofShapes].map(text => [
    ...text.matchAll(/(?:return|[?:]) '(\w+)'/g)
  ])
  t.ok([shown, ...returned].every(found => found.length > 2))
  for (const [, code] of [...shown, ...returned.flat()]) {
    t.match(errorReference(), new RegExp(`^(?:## |\\| )\`${code}\``, 'm'))
  }
})

t.test('every message is a sentence', async t => {
  for (const [code, { message }] of Object.entries(codes)) t.match(message, /^[A-Z`].*\.$/, code)
})
