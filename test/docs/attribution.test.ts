/** Checks the table of docs/attribution.md against the requests that providers receive. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { kinds } from '../../lib/providers/kinds.ts'
import { providerKinds, type ProviderKind } from '../../schemas/providers.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { fakeUpstream } from '../support/upstream.ts'

const page = readFileSync(join(import.meta.dirname, '../../../docs/attribution.md'), 'utf8')

const names = { user: 'by-user', safety_identifier: 'by-identifier', metadata: { job: 'by-metadata' } }
const requests = {
  '/v1/chat/completions': { messages: [{ role: 'user', content: 'hi' }], ...names },
  '/v1/responses': { input: 'hi', store: false, ...names },
  '/v1/messages': {
    messages: [{ role: 'user', content: 'hi' }],
    max_tokens: 10,
    metadata: { user_id: 'by-user-id' }
  }
}
const headers = {
  'x-litellm-end-user-id': 'by-header',
  'x-session-id': 'by-session',
  'x-headgate-tags': 'by-tag'
}

const hasModel = providerKinds.filter(kind => kinds[kind].inProcess === undefined)

/** Returns where a provider receives caller data from a request, in the format of the table. */
async function sentTo (t: Test, kind: ProviderKind, path: keyof typeof requests): Promise<string> {
  const upstream = await fakeUpstream({ status: 400, pieces: ['{}'] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'one', kind, { retries: 0 })]
  })
  await (await api.post(path, { model: 'one/m', ...requests[path] }, { headers })).text()
  const request = await upstream.request(0)
  for (const [name, value] of Object.entries(headers)) {
    t.notOk(name in request.headers || request.text.includes(value), `${kind} does not get ${name}`)
  }
  // serialized by the gateway
  const fields = request.json as {
    user?: string
    safety_identifier?: string
    metadata?: Record<string, string>
  }
  const found = [
    ['user', fields.user],
    ['safety_identifier', fields.safety_identifier],
    ...Object.entries(fields.metadata ?? {}).map(([name, value]) => [`metadata.${name}`, value])
  ]
  return (
    found
      .flatMap(([name = '', value = '']) =>
        value === '' ? [] : `${sources[value] ?? 'a hash'} as \`${name.replace('.job', '')}\``
      )
      .join(', ') || '–'
  )
}

const sources: Readonly<Record<string, string>> = {
  'by-user': '`user`',
  'by-identifier': '`safety_identifier`',
  'by-metadata': '`metadata`',
  'by-user-id': '`metadata.user_id`'
}

const rows = [...page.matchAll(/^\| ((?:`[\w.-]+`(?:, )?)+) \| (.+) \| (.+) \| (.+) \|$/gm)].map(
  ([, names = '', ...cells]) => ({
    kinds: [...names.matchAll(/`([\w.-]+)`/g)].map(([, name = '']) => name),
    cells
  })
)

t.test('every provider kind is in the table', async t => {
  t.same(rows.flatMap(row => row.kinds).toSorted(), hasModel.toSorted())
})

for (const { kinds: named, cells } of rows) {
  t.test(`${named.join(', ')} receive what the table says, and no name from a header`, async t => {
    for (const kind of hasModel.filter(name => named.includes(name))) {
      for (const [index, path] of (Object.keys(requests) as Array<keyof typeof requests>).entries()) {
        t.equal(await sentTo(t, kind, path), cells[index], `${kind} ${path}`)
      }
    }
  })
}
