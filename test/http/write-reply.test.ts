import { createServer } from 'node:http'
import { once } from 'node:events'
import t from 'tap'
import { createCallRecord } from '../../lib/call-record.ts'
import { writeReply } from '../../lib/http/write-reply.ts'
import type { AddressInfo } from 'node:net'
import type { Call } from '../../lib/call.ts'

t.test('a stream that has nothing to say is kept alive with comments', async t => {
  let goOn = (): void => {}
  const quiet = new Promise<void>(resolve => { goOn = resolve })
  const reply = {
    status: 200,
    headers: { 'content-type': 'text/event-stream' },
    keepAlive: { text: ': ping\n', everyMs: 1 },
    body: (async function * () {
      yield 'data: one\n\n'
      await quiet
      yield 'data: two\n\n'
    })()
  }
  const server = createServer((_request, response) => {
    const call: Call = {
      id: 'id', headers: {}, params: {}, body: async () => undefined, signal: new AbortController().signal,
      receivedAtMs: performance.now(), record: createCallRecord('chat')
    }
    void writeReply(response, reply, call)
  }).listen(0, '127.0.0.1')
  t.teardown(() => server.close())
  await once(server, 'listening')
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`) // listening on TCP
  let text = ''
  for await (const piece of response.body ?? []) {
    text += Buffer.from(piece).toString()
    if (/(?:: ping\n){3}$/.test(text)) goOn()
  }
  t.match(text, /^(?:: ping\n)*data: one\n\n(?:: ping\n){3,}data: two\n\n$/, 'between events, never inside one')
})
