import { once } from 'node:events'
import t from 'tap'
import { Pipelining } from '../../lib/http/pipelining.ts'
import { testGateway, upstreamAt } from '../support/gateway.ts'
import { httpServer } from '../support/http-server.ts'
import { raw, requestText, rest } from '../support/raw.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import type { ServerResponse } from 'node:http'

const livez = 'GET /livez HTTP/1.1\r\nhost: x\r\n\r\n'

function statuses (text: string): string[] {
  return [...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status ?? '')
}

t.test('a connection may have 16 pending answers; the next request is refused and closes it', async t => {
  const api = await testGateway(t)
  const socket = await raw(t, api.url)
  socket.write(livez.repeat(200))
  const text = await rest(socket)
  const all = statuses(text)
  // The first may be served while the others are still being parsed, which makes room for one more.
  t.ok(all.length >= 17 && all.length <= 40, `${all.length} answers`)
  t.same(new Set(all.slice(0, -1)), new Set(['200']))
  t.equal(all.at(-1), '503')
  t.match(
    text,
    /connection: close\r\n[^]*Too many pipelined requests on this connection \(limit 16\)\.","type":"server_error","code":"overloaded","param":null}}$/i
  )
})

t.test('sequential requests are never refused', async t => {
  const api = await testGateway(t)
  const socket = await raw(t, api.url)
  for (let count = 0; count < 40; count++) {
    socket.write(livez)
    const [bytes] = await once(socket, 'data') as [Buffer]
    t.match(bytes.toString(), /^HTTP\/1\.1 200 /)
  }
})

t.test('the maximum number of pipelined requests is served', async t => {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, { providers: [upstreamAt(`${upstream.url}/v1`)] })
  const socket = await raw(t, api.url)
  const request = requestText('{"model":"openai/gpt-5","messages":"hi"}')
  socket.write(request.repeat(15) + request.replace('host: x', 'host: x\r\nconnection: close'))
  t.same(statuses(await rest(socket)), Array.from({ length: 16 }, () => '200'))
})

t.test(
  'a limit lowered below the pending requests refuses the next one and serves those',
  async t => {
    const pipelining = new Pipelining(16)
    const open: ServerResponse[] = []
    let dropped = 0
    const { url } = await httpServer(t, (request, response) => {
      switch (pipelining.admit(request, response)) {
        case 'serve':
          return void open.push(response)
        case 'refuse':
          return void response.writeHead(503).end()
        case 'drop':
          dropped++
      }
    })
    const socket = await raw(t, url)
    socket.write(livez.repeat(11))
    await until(() => open.length === 11, 'eleven requests')
    pipelining.maxPipelined = 2
    socket.write(livez.repeat(3))
    await until(() => dropped === 2, 'the others to be dropped')
    for (const response of open) response.end()
    t.same(statuses(await rest(socket)), [...Array.from({ length: 11 }, () => '200'), '503'])
  }
)

t.test(
  '20,000 pipelined requests on each of 10 connections take no slot from a caller with a key',
  async t => {
    const upstream = await fakeUpstream({ pieces: [chatAnswer('x')] })
    t.teardown(upstream.close)
    const api = await testGateway(t, {
      providers: [upstreamAt(`${upstream.url}/v1`)],
      limits: { ...settings().limits, openCalls: 1 }
    })
    const flood = Buffer.from(livez.repeat(20_000))
    const sockets = await Promise.all(Array.from({ length: 10 }, async () => await raw(t, api.url)))
    for (const socket of sockets) socket.write(flood)
    t.equal((await api.post('/v1/chat/completions', { model: 'openai/gpt-5', messages: 'hi' })).status, 200)
    for (const socket of sockets) socket.resume()
    await until(
      () => sockets.every(socket => socket.closed),
      'every flooding connection to be closed',
      60_000
    )
    t.ok(api.lines.length < 500, `${api.lines.length} of 200,000 requests became calls`)
  }
)
