/** The gateway as middleware of another Koa app, and behind middleware of the embedding program. */

import { bodyParser } from '@koa/bodyparser'
import cors from '@koa/cors'
import Koa, { type Middleware } from 'koa'
import { koaBody } from 'koa-body'
import t from 'tap'
import { testGateway, testKey, upstreamAt, type TestGateway } from '../support/gateway.ts'
import { httpServer } from '../support/http-server.ts'
import { raw, rest } from '../support/raw.ts'
import { settings } from '../support/settings.ts'
import { until } from '../support/until.ts'
import { chatAnswer, fakeUpstream } from '../support/upstream.ts'
import type { Settings } from '../../lib/core/settings.ts'
import type { Test } from 'tap'

const headers = { authorization: `Bearer ${testKey}`, 'content-type': 'application/json' }
const chat = { method: 'POST', headers, body: JSON.stringify({ model: 'openai/gpt-5', messages: 'hi' }) }

interface Mounted {
  readonly url: string
  readonly api: TestGateway
  readonly seen: Array<readonly [status: number, body: unknown]>
}

/** Mounts a gateway after `before`, and a route of the app after the gateway. */
async function mounted (
  t: Test,
  before: readonly Middleware[] = [],
  parts: Partial<Settings> = {}
): Promise<Mounted> {
  const upstream = await fakeUpstream({ pieces: [chatAnswer('there')] })
  t.teardown(upstream.close)
  const api = await testGateway(t, {
    providers: [upstreamAt(`${upstream.url}/v1`, 'openai', 'openai', { quirks: { responsesApi: false } })],
    ...parts
  })
  const app = new Koa()
  const seen: Array<readonly [number, unknown]> = []
  app.use(async (context, next) => {
    await next()
    seen.push([context.status, context.body])
  })
  for (const middleware of before) app.use(middleware)
  app.use(api.gateway.middleware())
  app.use(context => { if (context.path === '/mine') context.body = 'mine' })
  const handle = app.callback()
  const { url } = await httpServer(t, (request, response) => { void handle(request, response) })
  return { url, api, seen }
}

t.test('another app serves the gateway, and sees the status of its answers', async t => {
  const { url, seen, api } = await mounted(t)
  t.match(await (await fetch(`${url}/v1/chat/completions`, chat)).json(), {
    choices: [{ message: { content: 'there' } }]
  })
  const streamed = await fetch(`${url}/v1/chat/completions`, {
    ...chat,
    body: JSON.stringify({ model: 'sandbox/echo', messages: 'hi', stream: true })
  })
  t.match(await streamed.text(), /model_not_found/)
  await until(() => seen.length === 2, 'both calls')
  t.same(seen, [[200, undefined], [404, undefined]])
  t.equal(api.lines.filter(({ endpoint }) => endpoint === 'chat').length, 2)
})

t.test(
  "a path that the gateway does not serve goes to the next middleware, and ends in the gateway's 404",
  async t => {
    const { url } = await mounted(t)
    t.equal(await (await fetch(`${url}/mine`)).text(), 'mine')
    const unknown = await fetch(`${url}/v2/chat/completions`, chat)
    t.equal(unknown.status, 404)
    t.match(await unknown.json(), {
      error: { code: 'not_found', message: /^Not found: POST \/v2\/chat\/completions/ }
    })
    t.equal((await fetch(`${url}/v1/chat/completions`)).headers.get('allow'), 'POST')
  }
)

t.test('headers set by middleware are sent, unless the gateway sets the same', async t => {
  const { url } = await mounted(t, [
    cors(),
    async (context, next) => {
      context.set({ 'x-mine': 'yes', 'content-type': 'text/odd', 'x-request-id': 'mine' })
      await next()
    }
  ])
  const answer = await fetch(`${url}/v1/chat/completions`, {
    ...chat,
    headers: { ...headers, origin: 'https://app.example' }
  })
  t.match(Object.fromEntries(answer.headers), {
    'access-control-allow-origin': '*', vary: 'Origin', 'x-mine': 'yes', 'content-type': /^application\/json/
  })
  t.not(answer.headers.get('x-request-id'), 'mine')
  t.equal(((await answer.json()) as { object: string }).object, 'chat.completion')
  const preflight = await fetch(`${url}/v1/chat/completions`, {
    method: 'OPTIONS',
    headers: { origin: 'https://app.example', 'access-control-request-method': 'POST' }
  })
  t.equal(preflight.status, 204, 'answered before the gateway')
})

t.test("a body parsed and kept by an earlier parser is used, and its errors are the gateway's", async t => {
  const { url } = await mounted(t, [bodyParser()])
  const answer = await fetch(`${url}/v1/chat/completions`, chat)
  t.equal(answer.status, 200)
  t.match(await answer.json(), { choices: [{ message: { content: 'there' } }] })
  t.match(await (await fetch(`${url}/v1/chat/completions`, { ...chat, body: '{"model":7}' })).json(), {
    detail: [{ loc: ['body', 'model'] }, {}]
  })
})

t.test('a body that an earlier parser has discarded gives an error that explains the fix', async t => {
  const { url } = await mounted(t, [koaBody({ multipart: true })])
  const form = new FormData()
  form.set('model', 'openai/whisper-1')
  const { 'content-type': _, ...withoutType } = headers
  for (const [path, init] of [
    ['chat/completions', chat],
    ['audio/transcriptions', { method: 'POST', headers: withoutType, body: form }]
  ] as const) {
    const answer = await fetch(`${url}/v1/${path}`, init)
    t.equal(answer.status, 500)
    t.match(await answer.json(), { error: { code: 'body_already_read', message: /rawBody/ } })
  }
})

t.test('host name checks also apply inside another app', async t => {
  const { url } = await mounted(t, [], { server: { ...settings().server, acceptedHosts: ['ai.example'] } })
  t.equal((await fetch(`${url}/livez`)).status, 200)
  const socket = await raw(t, url)
  socket.write('GET /livez HTTP/1.1\r\nhost: evil.example\r\nconnection: close\r\n\r\n')
  t.match(await rest(socket), /^HTTP\/1\.1 421 /)
})

t.test('middleware of the program runs before the gateway on its own port', async t => {
  const refuse: Middleware = async (context, next) => {
    context.set('x-mine', 'yes')
    if (context.get('x-blocked') === '') return await next()
    context.status = 403
    context.body = { error: 'blocked' }
  }
  const { get } = await testGateway(t, {}, {}, { middleware: [refuse] })
  const served = await get('/livez')
  t.same([served.status, served.headers.get('x-mine')], [200, 'yes'])
  const blocked = await get('/v1/models', { headers: { 'x-blocked': '1' } })
  t.same([blocked.status, await blocked.json()], [403, { error: 'blocked' }])
})
