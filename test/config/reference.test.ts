import { readFileSync } from 'node:fs'
import t from 'tap'
import { configurationReference } from '../../lib/config/reference.ts'

t.test('the configuration reference matches the schema', async t => {
  const page = readFileSync(new URL('../../../docs/configuration.md', import.meta.url), 'utf8')
  t.equal(page, configurationReference(), 'npm run docs regenerates it')
})

t.test('every entry has a type and a description', async t => {
  const rows = configurationReference().split('\n').filter(line => line.startsWith('| `'))
  t.ok(rows.length > 120, `${rows.length} entries`)
  for (const row of rows) {
    const [, entry = '', type = '', , description = ''] = row.split(/(?<!\\)\|/).map(cell => cell.trim())
    t.ok(type !== '' && type !== 'any' && (description !== '' || /<name>`$|\[\]`$/.test(entry)), entry)
  }
  t.ok(
    rows.some(row =>
      row.startsWith(
        '| `providers.<name>.timeouts.connect_ms` | integer, at least 1, at most 86400000 | `10000` |'
      )
    )
  )
  t.ok(rows.some(row => row.startsWith('| `providers.<name>.api_key` | secret | – |')))
  t.ok(
    rows.some(row =>
      row.startsWith('| `models.<name>.traits.embeddings.tokens_per_input` | integer, at least 1 |')
    )
  )
})
