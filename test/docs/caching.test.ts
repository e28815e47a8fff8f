/** Runs the recipes of docs/caching.md against the sandbox. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { load } from '../support/config.ts'
import { testGateway } from '../support/gateway.ts'

const text = readFileSync(join(import.meta.dirname, '../../../docs/caching.md'), 'utf8')

interface Recipe {
  readonly title: string
  readonly yaml: string
  readonly lines: readonly string[]
}

const recipes = text.split('\n### ').slice(1).map((section): Recipe => ({
  title: section.split('\n', 1)[0] ?? '',
  yaml: /```yaml\n([^]*?)```/.exec(section)?.[1] ?? '',
  lines: /```json\n([^]*?)\n```/.exec(section)?.[1]?.split('\n') ?? []
}))

t.test('the page has ten recipes', async t => {
  t.equal(recipes.length, 10)
  for (const { title, yaml, lines } of recipes) t.ok(yaml !== '' && lines.length > 1, title)
})

for (const { title, yaml, lines } of recipes) {
  t.test(title, async t => {
    const loaded = load(t, `providers: { sandbox: { enabled: true } }\n${yaml}`)
    const api = await testGateway(t, { ...loaded, server: { ...loaded.server, port: 0 } })
    for (const line of lines) {
      const [, body = '', directive, cache] =
        /^(\{.*\}) {2}\/\/ (?:cache-control: (\S+) → )?(hit|miss|bypass)$/.exec(line) ?? []
      const response = await api.post('/v1/chat/completions', body, {
        headers: directive === undefined ? {} : { 'cache-control': directive }
      })
      t.equal(response.status, 200, `${line}: ${await response.text()}`)
      t.equal(response.headers.get('x-headgate-cache'), cache, line)
    }
  })
}
