import { createServer, type AddressInfo, type Socket } from 'node:net'
import { each, finding, seeded, type Finding, type Scenario } from './scenario.ts'
import { key, providerAt, startWorld, type World } from './world.ts'

/** Bytes on a connection that answer a request, which holds this token. */
type Shape = (token: string) => { readonly bytes: string, readonly ends?: boolean }

const ok = 'HTTP/1.1 200 OK\r\n'
const json = 'content-type: application/json\r\n'

function completion (token: string): string {
  return JSON.stringify({
    id: 'x',
    object: 'chat.completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, message: { role: 'assistant', content: `token ${token}` }, finish_reason: 'stop' }]
  })
}

function response (body: string, headers = '', status = '200 OK'): string {
  return `HTTP/1.1 ${status}\r\n${json}${headers}content-length: ${body.length}\r\n\r\n${body}`
}

function chunked (body: string, extension = ''): string {
  const half = body.length >> 1
  const pieces = [body.slice(0, half), body.slice(half)].map(
    piece => `${piece.length.toString(16)}${extension}\r\n${piece}\r\n`
  )
  return `${ok}${json}transfer-encoding: chunked\r\n\r\n${pieces.join('')}0\r\n\r\n`
}

/** The answer to a request that nobody sent: its token belongs to no caller. */
const stray = response(completion('stray'))

/** Valid but unusual responses: their calls succeed. */
const right: Readonly<Record<string, Shape>> = {
  'a plain response': token => ({ bytes: response(completion(token)) }),
  'chunks': token => ({ bytes: chunked(completion(token)) }),
  'chunks with extensions': token => ({ bytes: chunked(completion(token), `;${'x'.repeat(2000)}`) }),
  'a body that ends with its connection': token => ({
    bytes: `${ok}${json}\r\n${completion(token)}`,
    ends: true
  }),
  'HTTP/1.0': token => ({ bytes: response(completion(token)).replace('1.1', '1.0'), ends: true }),
  'interim responses before it': token => ({
    bytes: `HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n${'HTTP/1.1 102 Processing\r\n\r\n'.repeat(3)}${response(completion(token))}`
  }),
  'a response behind it': token => ({ bytes: response(completion(token)) + stray }),
  'a response behind its chunks': token => ({ bytes: chunked(completion(token)) + stray }),
  'half a response behind it': token => ({ bytes: response(completion(token)) + stray.slice(0, 40) }),
  'garbage behind it': token => ({ bytes: `${response(completion(token))}\0\0garbage` }),
  'connection: close, and a response behind it': token => ({
    bytes: response(completion(token), 'connection: close\r\n') + stray
  }),
  'keep-alive that is over': token => ({ bytes: response(completion(token), 'keep-alive: timeout=0\r\n') }),
  'a closed connection behind it': token => ({ bytes: response(completion(token)), ends: true }),
  'names of object members': token => ({
    bytes: response(completion(token), '__proto__: x\r\nconstructor: y\r\n')
  })
}

/** Invalid responses: their calls fail, or get their own answer. */
const wrong: Readonly<Record<string, Shape>> = {
  'a length that is too long': token => ({
    bytes: `${ok}${json}content-length: 9999\r\n\r\n${completion(token)}`,
    ends: true
  }),
  'a length that is too short, and a response behind it': token => ({
    bytes: `${ok}${json}content-length: 5\r\n\r\n${completion(token)}${stray}`
  }),
  'two lengths': token => ({
    bytes: `${ok}${json}content-length: 5\r\ncontent-length: 500\r\n\r\n${completion(token)}${stray}`
  }),
  'a negative length': token => ({ bytes: `${ok}content-length: -1\r\n\r\n${completion(token)}` }),
  'a length with letters': token => ({ bytes: `${ok}content-length: 1e3\r\n\r\n${completion(token)}` }),
  'a length and chunks': token => ({
    bytes: chunked(completion(token)).replace('\r\n\r\n', '\r\ncontent-length: 3\r\n\r\n') + stray
  }),
  'an unknown transfer coding': token => ({
    bytes: `${ok}transfer-encoding: gzip, chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n${response(completion(token))}`
  }),
  'a chunk of no size': token => ({
    bytes: `${ok}transfer-encoding: chunked\r\n\r\ng\r\n${completion(token)}`
  }),
  'a chunk of too much': token => ({
    bytes: `${ok}transfer-encoding: chunked\r\n\r\n${'f'.repeat(20)}\r\n${completion(token)}`
  }),
  'a chunk that is longer than it says': token => ({
    bytes: `${ok}transfer-encoding: chunked\r\n\r\n1\r\n${completion(token)}\r\n0\r\n\r\n`
  }),
  'chunks that break off': token => ({ bytes: chunked(completion(token)).slice(0, -30), ends: true }),
  'trailers without an end': () => ({
    bytes: `${ok}transfer-encoding: chunked\r\n\r\n0\r\nx: ${'y'.repeat(40_000)}`
  }),
  'no status line': () => ({ bytes: 'SSH-2.0-OpenSSH_9.2\r\n\r\n' }),
  'a status of two digits': token => ({ bytes: response(completion(token), '', '20 OK') }),
  'another protocol': token => ({
    bytes: `HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n${response(completion(token))}`
  }),
  '100 Continue': token => ({ bytes: `HTTP/1.1 100 Continue\r\n\r\n${response(completion(token))}` }),
  '204 with a body': () => ({ bytes: `HTTP/1.1 204 No Content\r\n\r\n${stray}` }),
  '304 with a body': () => ({ bytes: `HTTP/1.1 304 Not Modified\r\n\r\n${stray}` }),
  'a folded header': token => ({ bytes: response(completion(token), 'x: y\r\n folded\r\n') }),
  'a header without a colon': token => ({ bytes: response(completion(token), 'no colon\r\n') }),
  'a header with a zero byte': token => ({ bytes: response(completion(token), 'x: a\0b\r\n') }),
  'a head of 40 KB': token => ({ bytes: response(completion(token), `x: ${'y'.repeat(40_000)}\r\n`) }),
  'line feeds alone': token => ({ bytes: response(completion(token)).replaceAll('\r\n', '\n') }),
  'nothing at all': () => ({ bytes: '', ends: true }),
  'a head that breaks off': () => ({ bytes: ok, ends: true })
}

const shapes: Readonly<Record<string, Shape>> = { ...right, ...wrong }
const secondKey = 'second-soak-key'
/**
 * An unrequested response written so long before a request was not in transit any more: the gateway could
 * have read it.
 */
const onItsWayMs = 1000
const idleMs = 5

interface RawProvider {
  readonly port: number
  /** Unrequested responses written to idle connections. */
  readonly strays: () => number
  /** Requests sent over a connection long after an unrequested response. */
  readonly careless: () => number
  /**
   * Calls whose request crossed an unrequested response in transit, which no client can tell from an answer.
   */
  readonly undecidable: ReadonlySet<string>
  readonly close: () => void
}

/**
 * Starts a server that answers each request by the shape of its model, and writes unrequested responses to
 * idle connections.
 */
async function startRawProvider (): Promise<RawProvider> {
  const undecidable = new Set<string>()
  const sockets = new Set<Socket>()
  let [strays, careless] = [0, 0]
  const server = createServer({ noDelay: true }, socket => {
    let text = ''
    let spoiledAtMs: number | undefined
    let timer: NodeJS.Timeout | undefined
    sockets.add(socket)
    const spoil = (): void => {
      spoiledAtMs = performance.now()
      strays++
      socket.write(stray)
    }
    socket.on('close', () => {
      clearTimeout(timer)
      sockets.delete(socket)
    }).on('error', () => socket.destroy()).on('data', data => {
      clearTimeout(timer)
      text += data.toString('latin1')
      for (let request = takeRequest(); request !== undefined; request = takeRequest()) answer(request)
    })
    const takeRequest = (): string | undefined => {
      const end = text.indexOf('\r\n\r\n')
      const size = end + 4 + Number(/content-length: (\d+)/.exec(text)?.[1] ?? 0)
      if (end === -1 || text.length < size) return undefined
      const request = text.slice(0, size)
      text = text.slice(size)
      return request
    }
    const answer = (request: string): void => {
      const [, token = ''] = /\[\[(\w+)\]\]/.exec(request) ?? []
      const [, name = ''] = /"model":"([^"]*)"/.exec(request) ?? []
      if (spoiledAtMs !== undefined) {
        if (performance.now() - spoiledAtMs > onItsWayMs) careless++
        undecidable.add(token)
      }
      const { bytes, ends = false } = shapes[name]?.(token) ?? { bytes: '', ends: true }
      if (bytes.includes(stray)) spoiledAtMs ??= -Infinity // no more requests may come over this connection
      if (ends) socket.end(bytes, 'latin1')
      else socket.write(bytes, 'latin1')
      if (spoiledAtMs === undefined) timer = setTimeout(spoil, idleMs)
    }
  })
  await new Promise<void>(resolve => { server.listen(0, '127.0.0.1', resolve) })
  return {
    port: (server.address() as AddressInfo).port, // a port, not a path
    strays: () => strays,
    careless: () => careless,
    undecidable,
    close: () => {
      server.close()
      for (const socket of sockets) socket.destroy()
    }
  }
}

/** Providers with malformed or unrequested responses: no caller gets the answer of another. */
export const hostileResponses: Scenario = {
  name: 'hostile responses',
  run: async short => {
    const provider = await startRawProvider()
    const world = await startWorld({
      env: { SECOND_KEY: secondKey },
      configuration: {
        keys: [
          { name: 'soak', key: 'env:SOAK_KEY' },
          { name: 'second', key: 'env:SECOND_KEY' }
        ],
        providers: {
          fake: providerAt(provider.port, 'openai', {
            retries: 0,
            timeouts: { response_ms: 3000, idle_bytes_ms: 1000 }
          })
        }
      }
    })
    try {
      return await callAll(world, provider, short ? 400 : 2000)
    } finally {
      await world.stop()
      provider.close()
    }
  }
}

async function callAll (world: World, provider: RawProvider, count: number): Promise<Finding[]> {
  const random = seeded(35)
  const names = Object.keys(shapes)
  const calls: Array<{
    readonly name: string
    readonly token: string
    readonly found: string | undefined
    readonly isAnswer: boolean
  }> = []
  await each(count, 12, async number => {
    const name = names[number % names.length] ?? ''
    const token = `t${number}`
    const bearer = random() < 0.5 ? key : secondKey
    // Half of the callers pause, so that connections are idle for a while.
    if (random() < 0.5) {
      await new Promise(resolve => {
        setTimeout(resolve, 10 * idleMs * random())
      })
    }
    const { status, text } = await world.post(
      '/v1/chat/completions',
      { model: `fake/${name}`, messages: `[[${token}]]` },
      { headers: { authorization: `Bearer ${bearer}` } }
    )
    const [, found] = /token (\w+)/.exec(text) ?? []
    calls.push({ name, token, found, isAnswer: status === 200 && found === token })
  })
  const alive =
    (await world.post('/v1/chat/completions', { model: 'fake/a plain response', messages: '[[last]]' }))
      .status === 200
  // complete only now: the provider may read a request after its caller has an answer
  const { undecidable } = provider
  const decidable = calls.filter(({ token }) => !undecidable.has(token))
  const answers = decidable.filter(({ isAnswer }) => isAnswer).length
  const wrongAnswers = decidable.filter(({ token, found }) => found !== undefined && found !== token).length
  const failed = new Set(
    decidable.filter(({ name, isAnswer }) => name in right && !isAnswer).map(({ name }) => name)
  )
  return [
    finding(
      'no caller gets the answer of another, or of nobody',
      wrongAnswers === 0 && alive && provider.strays() > 0,
      `${count} calls of two keys, ${names.length} shapes; ${answers} answers, ${wrongAnswers} wrong; ${provider.strays()} unrequested responses to idle connections, ` +
        `${undecidable.size} on their way when a request came`
    ),
    finding(
      'no request goes over a connection on which something unrequested has come',
      provider.careless() === 0,
      `${provider.careless()} requests`
    ),
    finding(
      'responses that are right, however odd, are answers',
      failed.size === 0,
      failed.size === 0 ? 'all of them' : `all but ${[...failed].join(', ')}`
    )
  ]
}
