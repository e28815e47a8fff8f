import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { chatCompletions } from '../../lib/providers/chat-completions/index.ts'
import { ask } from '../support/chat-completions.ts'
import { readResponse } from '../support/adapters.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { fakeUpstream } from '../support/upstream.ts'

const page = readFileSync(join(import.meta.dirname, '../../../lib/README.md'), 'utf8')
const chapter = page.slice(page.indexOf('## One call'), page.indexOf('## A stream'))
const blocks = [...chapter.matchAll(/```json\n([^]*?)```/g)]
  .map(([, text = '']) => JSON.parse(text) as object)
const [request, upstreamRequest, upstreamAnswer, events, reply] = blocks

t.test('the call in lib/README.md has these values', async t => {
  const upstream = await fakeUpstream({ pieces: [JSON.stringify(upstreamAnswer)] })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai')] })
  const response = await api.post('/v1/chat/completions', request)
  const answer = await response.json() as object
  t.same(upstream.requests.map(({ json }) => json), [upstreamRequest])
  t.match(answer, { id: /^chatcmpl-/, created: Number })
  const { created } = reply as { created: number }
  t.same({ ...answer, id: 'chatcmpl-…', created }, reply)
  t.same(readResponse(chatCompletions, upstreamAnswer, ask()), events)
})
