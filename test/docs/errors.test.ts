import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { codes } from '../../lib/core/errors.ts'
import { errorReference } from './errors.ts'

t.test('docs/errors.md is what `npm run docs` writes', async t => {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/errors.md'), 'utf8')
  t.equal(page, errorReference())
  for (const code of Object.keys(codes)) t.match(page, `## \`${code}\``)
})

t.test('every message is a sentence', async t => {
  for (const [code, { message }] of Object.entries(codes)) t.match(message, /^[A-Z`].*\.$/, code)
})
