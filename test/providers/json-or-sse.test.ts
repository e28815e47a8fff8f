import t from 'tap'
import { jsonOrSse } from '../../lib/providers/json-or-sse.ts'
import type { Ask, StreamReader } from '../../lib/providers/provider.ts'

const ask = (streamed: boolean): Ask<string> => ({ request: 'question', route: { providerId: 'a', model: 'b', modelId: 'a/b' }, quirks: {}, streamed })
const stream = ({ request }: Ask<string>): StreamReader<string> => ({ done: false, read: (_message, into) => { into.push(request) }, end: () => undefined })
const json = (value: unknown, { request }: Ask<string>): string[] => [`${request} ${String(value)}`]

t.test('a body is read as it was requested, and as the other if it turns out to be that', async t => {
  const sse = jsonOrSse(ask(true), json, stream)
  t.same(sse.as === 'sse' && sse.json?.(7), ['question 7'])
  const complete = jsonOrSse(ask(false), json, stream)
  t.same(complete.as === 'json' && complete.read(7), ['question 7'])
  const events: string[] = []
  if (complete.as === 'json') complete.sse?.().read({ data: '', event: undefined, id: undefined }, events)
  t.same(events, ['question'])
})
