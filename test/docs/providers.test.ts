import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { providerKinds } from '../../schemas/providers.ts'
import { catalogue } from '../../lib/models/catalogue.ts'
import { providerReference } from './providers.ts'

t.test('docs/providers.md is up to date with `npm run docs`', async t => {
  t.equal(readFileSync(join(import.meta.dirname, '../../../docs/providers.md'), 'utf8'), providerReference())
})

t.test('every provider kind and every model of the catalogue has a row', async t => {
  const rows = providerReference()
    .split('\n')
    .filter(line => line.startsWith('| `'))
    .map(line => /`([^`]+)`/.exec(line)?.[1])
  for (const kind of providerKinds) {
    t.equal(rows.slice(0, providerKinds.length).filter(name => name === kind).length, 1, kind)
  }
  t.same(
    rows.slice(-catalogue.length),
    catalogue.map(({ id }) => id)
  )
  t.match(providerReference(), '| `anthropic` | yes | – | yes | – | – | – | – | – | – | – | – | – |')
})
