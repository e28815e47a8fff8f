import t from 'tap'
import { Agent } from 'undici'
import { GatewayError } from '../../lib/core/errors.ts'
import { createAgents } from '../../lib/mcp/agents.ts'
import { asFailure } from '../../lib/mcp/failure.ts'
import { unbounded } from '../../lib/mcp/guarded-fetch.ts'
import { sessionFetch } from '../../lib/mcp/session-fetch.ts'
import { fakeUpstream, type Script, type SeenRequest } from '../support/upstream.ts'
import { until } from '../support/until.ts'
import type { HeldMemory } from '../../lib/core/held-memory.ts'
import type { Test } from 'tap'

const message = (method: string, id: number | undefined, params: object = {}): string =>
  JSON.stringify({ jsonrpc: '2.0', ...id !== undefined && { id }, method, params })

async function start (
  t: Test,
  script: Script | ((request: SeenRequest) => Script),
  maxBytes = 1000,
  oneWayMs?: number,
  hold: () => HeldMemory = () => unbounded,
  answersInBody = true
) {
  const listing = { leftOut: new Set<string>(), bytes: 0, maxBytes }
  const upstream = await fakeUpstream(script)
  t.teardown(upstream.close)
  const agent = new Agent()
  t.teardown(async () => await agent.destroy())
  const fetch = sessionFetch({
    origin: upstream.url,
    agent,
    elsewhere: agent,
    maxBytes,
    hold,
    listing,
    answersInBody,
    ...oneWayMs !== undefined && { oneWayMs }
  })
  return {
    upstream,
    listing,
    get: async () => await fetch(upstream.url, { method: 'GET' }),
    send: async (body: string, init: RequestInit = {}) =>
      await fetch(upstream.url, { method: 'POST', body, ...init })
  }
}

t.test('a message is sent unchanged', async t => {
  const answer = '{"jsonrpc":"2.0","id":1,"result":{}}'
  const { upstream, send } = await start(t, { pieces: [answer] })
  t.equal(await (await send(message('ping', 1), { headers: { 'x-a': 'b' } })).text(), answer)
  t.match(upstream.requests[0], { method: 'POST', json: { method: 'ping', id: 1 }, headers: { 'x-a': 'b' } })
})

t.test('a cancelled request is abandoned even if its server never answers it', async t => {
  const { upstream, send } = await start(t, ({ text }) =>
    text.includes('tools/call') ? { silent: true } : { status: 202 }
  )
  const slow = t.rejects(send(message('tools/call', 7)), { name: 'AbortError' })
  await upstream.request(0)
  await send(message('notifications/cancelled', undefined, { requestId: 7 }))
  await slow
})

t.test(
  'unanswered notifications keep no socket, slow requests do',
  async t => {
    const { upstream, send } = await start(t, { silent: true }, 1000, 20)
    const session = new AbortController()
    const slow = t.rejects(send(message('tools/call', 7), { signal: session.signal }))
    await t.rejects(send(message('notifications/cancelled', undefined, { requestId: 8 })), {
      name: 'AbortError'
    })
    await t.rejects(send(message('notifications/progress', undefined)), { name: 'AbortError' })
    await until(() => upstream.sockets() === 1, 'the sockets of the notifications to close')
    session.abort()
    await slow
  }
)

t.test('a server that sends many requests and accepts no reply holds a few sockets, for a while', async t => {
  const { upstream, send } = await start(t, { silent: true }, 1000, 1500)
  const reply = (id: number): string => JSON.stringify({ jsonrpc: '2.0', id, result: {} })
  const sent = Array.from({ length: 1000 }, async (_, id) => await send(reply(id)).then(
    ({ status }) => status,
    () => 'ended'
  ))
  const outcomes = await Promise.all(sent)
  t.equal(outcomes.filter(outcome => outcome === 202).length, 996, 'as if they had been taken')
  t.equal(upstream.requests.length, 4)
  await until(() => upstream.sockets() === 0, 'the sockets of the replies to close')
  const again = send(reply(1)).catch(() => undefined)
  await until(() => upstream.requests.length === 5, 'there to be room again')
  await again
})

t.test('the end of the session ends its requests', async t => {
  const { upstream, send } = await start(t, { silent: true })
  const session = new AbortController()
  const open = t.rejects(send(message('tools/call', 1), { signal: session.signal }))
  await upstream.request(0)
  session.abort()
  await open
  await until(() => upstream.sockets() === 0, 'the socket to close')
  await t.rejects(send(message('ping', 2), { signal: session.signal }))
})

const pageOf = (id: number | string, bytes: number): string => JSON.stringify({
  jsonrpc: '2.0', id, result: { tools: [{ name: 'x'.repeat(bytes - '{"tools":[{"name":""}]}'.length) }] }
})
const events = { 'content-type': 'text/event-stream' }

t.test('all pages of a list share the limit of one answer, and a new list starts afresh', async t => {
  const { send, listing } = await start(t, ({ json }) => ({
    pieces: [pageOf(Reflect.get(Object(json), 'id'), 600)]
  }))
  const list = async (id: number, cursor?: string): Promise<string> =>
    await (await send(message('tools/list', id, cursor === undefined ? {} : { cursor }))).text()
  t.match(await list(1), '"tools"')
  t.equal(listing.bytes, 600)
  await t.rejects(list(2, 'next'))
  t.match(await list(3), '"tools"')
  t.match(await (await send(message('tools/call', 4))).text(), '"tools"', 'answers of calls have their own')
  t.equal(listing.bytes, 600)
})

t.test('pages that arrive on another stream count towards the same limit', async t => {
  for (const [title, answersInBody, script] of [
    ['the older transport', false, { status: 202 }],
    ['a stream that is resumed', true, { headers: events, pieces: ['id: 1\ndata:\n\n'] }]
  ] as const) {
    // The second page writes its id in another form, which the client library accepts too.
    let pages = [pageOf(1, 600), pageOf('02', 600)]
    const { send, get, listing } = await start(
      t,
      ({ method }) => method === 'POST'
        ? script
        : {
            headers: events,
            pieces: pages.splice(0, 1).map(page => `data: {"id":9,"result":{}}\n\ndata: ${page}\n\n`)
          },
      1000,
      undefined,
      undefined,
      answersInBody
    )
    await (await send(message('tools/list', 1))).text()
    const first = await (await get()).text()
    t.match(first, '"tools"', title)
    t.notMatch(first, '"id":9', `${title}: an answer to no request is left out`)
    t.equal(listing.bytes, 600, title)
    await (await send(message('tools/list', 2, { cursor: 'next' }))).text()
    t.match(await (await get()).text(), '"error":{"code":-32096', `${title}: too large together`)
    pages = [pageOf(2, 600), pageOf(3, 600)]
    t.notMatch(await (await get()).text(), '"tools"', `${title}: nor as a second answer`)
    await (await send(message('tools/list', 3))).text()
    t.match(await (await get()).text(), '"tools"', `${title}: a new list begins anew`)
  }
})

t.test('a page that arrives beside the answer to another request is counted', async t => {
  const { send, listing } = await start(t, ({ text }) => ({
    headers: events,
    pieces: text.includes('tools/list')
      ? ['id: 1\ndata:\n\n']
      : [`data: ${pageOf(1, 600)}\n\ndata: {"id":2,"result":{}}\n\n`]
  }))
  await (await send(message('tools/list', 1))).text()
  t.match(await (await send(message('tools/call', 2))).text(), '"tools"')
  t.equal(listing.bytes, 600)
})

t.test(
  'a configured server can redirect only to public addresses',
  async t => {
    const inner = await fakeUpstream({ pieces: ['secret'] })
    t.teardown(inner.close)
    const agents = createAgents({ allowedHosts: [], connectMs: 1000 })
    t.teardown(async () => await agents.destroy())
    for (const status of [301, 302, 303, 307, 308]) {
      const server = await fakeUpstream(({ path }) => ({
        status,
        headers: { location: path === '/there' ? inner.url : `${server.url}/there` }
      }))
      t.teardown(server.close)
      const fetch = sessionFetch({
        origin: server.url,
        agent: agents.open(),
        elsewhere: agents.checked(),
        maxBytes: 1000,
        hold: () => unbounded,
        listing: { leftOut: new Set(), bytes: 0, maxBytes: 1000 }
      })
      await t.rejects(fetch(server.url, { method: 'GET' }), { code: 'ADDRESS_REFUSED' }, `${status}`)
      t.equal(server.requests.length, 2, 'a redirect within the server is followed')
      await t.rejects(
        fetch(inner.url, { method: 'POST', body: message('ping', 1) }),
        { code: 'ADDRESS_REFUSED' },
        'nor where else it may tell the client to send'
      )
    }
    t.same(inner.requests, [])
  }
)

/** Memory that counts the bytes held. */
class CountedMemory implements HeldMemory {
  held = 0
  most = 0
  readonly #max: number

  constructor (max = Infinity) {
    this.#max = max
  }

  take (bytes: number): void {
    if (this.held + bytes > this.#max) throw new GatewayError('overloaded')
    this.held += bytes
    this.most = Math.max(this.most, this.held)
  }

  release (bytes: number): void {
    this.held -= bytes
  }
}

t.test('an arriving answer counts as memory until it is read', async t => {
  const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(5000) } })
  const json = { 'content-type': 'application/json' }
  const events = { 'content-type': 'text/event-stream' }
  const progress = '{"jsonrpc":"2.0","method":"notifications/progress","params":{}}'
  const scripts: Readonly<Record<string, Script>> = {
    'JSON': { headers: json, pieces: [answer] },
    'an event': { headers: events, pieces: [`data: ${answer}\n\n`] },
    'no body': { status: 202 }
  }
  for (const [title, script] of Object.entries(scripts)) {
    const memory = new CountedMemory()
    const { send } = await start(t, script, 1e6, undefined, () => memory)
    await (await send(message('tools/call', 1))).text()
    t.equal(memory.held, 0, `${title}: all is given back`)
    if (title !== 'no body') t.ok(memory.most >= 10_000, `${title}: ${memory.most}`)
  }
  for (const end of ['\n\n', '\r\n\r\n']) {
    const memory = new CountedMemory()
    const pieces = [...Array.from({ length: 20 }, () => `data: ${progress}${end}`), 'data: {"open']
    const { send } = await start(t, { headers: events, pieces, then: 'stall' }, 1e6, undefined, () => memory)
    const left = new AbortController()
    const { body } = await send(message('tools/call', 1), { signal: left.signal })
    const reader = body?.getReader()
    let text = ''
    while (text.split('progress').length <= 20) {
      text += Buffer.from((await reader?.read())?.value ?? []).toString()
    }
    void reader?.read().catch(() => undefined) // keeps reading, as the client library does
    await until(() => memory.held === 2 * 'data: {"open'.length, 'the open message alone to be held')
    left.abort()
    t.equal(memory.held, 0, 'nothing is held of a session that has ended')
  }
})

t.test('with the older transport, answers come on the separate stream after an empty response', async t => {
  const answer = '{"jsonrpc":"2.0","id":1,"result":{"content":[]}}'
  const { send, get } = await start(
    t,
    ({ method }) => ({ headers: events, pieces: method === 'POST' ? [] : [`data: ${answer}\n\n`] }),
    1000,
    undefined,
    undefined,
    false
  )
  t.equal(await (await send(message('tools/call', 1))).text(), '')
  t.match(await (await get()).text(), '"result":{"content":[]}')
})

t.test('memory of an unread answer is released with its session', async t => {
  const memory = new CountedMemory()
  const { send } = await start(t, { pieces: ['x'.repeat(5000)] }, 1e6, undefined, () => memory)
  const session = new AbortController()
  await send(message('notifications/initialized', undefined), { signal: session.signal })
  await until(() => memory.held === 10_000, 'the answer to arrive')
  session.abort()
  t.equal(memory.held, 0)
})

t.test('an answer without enough free memory fails with that reason', async t => {
  const answer = JSON.stringify({ jsonrpc: '2.0', id: 1, result: { text: 'x'.repeat(5000) } })
  const expected = {
    message: 'The gateway does not have enough free memory for the response of the tool server.',
    code: 'call',
    recommendation: 'Try again later, or have the tool return less.'
  }
  const memory = new CountedMemory(9000)
  const json = await start(t, { pieces: [answer] }, 1e6, undefined, () => memory)
  const error = await json.send(message('tools/call', 1)).then(() => undefined, (error: unknown) => error)
  t.same(asFailure(error, 'call').toError(), expected)
  t.equal(memory.held, 0)
  for (const id of ['', 'id: 7\n']) {
    let isOpen = false
    async function * pieces (): AsyncGenerator<string> {
      yield `${id}data: {"jsonrpc":"2.0","method":"notifications/progress","params":{}}\n\n`
      await until(() => isOpen, 'the stream to be read')
      yield `data: ${answer}\n\n`
    }
    const headers = { 'content-type': 'text/event-stream' }
    const stream = await start(t, { headers, pieces: pieces() }, 1e6, undefined, () => memory)
    const response = await stream.send(message('tools/call', 1))
    isOpen = true
    t.match(await response.text(), '"error":{"code":-32097', 'the answer in its place')
    t.equal(memory.held, 0)
  }
})
