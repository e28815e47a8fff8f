import t from 'tap'
import { startToolServer } from '../support/tool-server.ts'
import { call, open, toolServers } from '../support/tool-servers.ts'
import { until } from '../support/until.ts'
import type { ToolOutcome } from '../../lib/mcp/tool-servers.ts'

const { signal } = new AbortController()

t.test('tools are called over a session', async t => {
  t.test('results become text for the model and values for the caller', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t), { mcp_servers: { url: server.url, name: 'mine' } })
    t.match(await call(tools, 'echo', { a: 1 }), {
      text: 'echo: {"a":1}',
      result: {
        toolName: 'echo',
        serverName: 'mine',
        arguments: { a: 1 },
        isError: false,
        result: 'echo: {"a":1}'
      }
    })
    t.match(await call(tools, 'counted'), { text: '{"times":1}', result: { result: { times: 1 } } })
    t.match(await call(tools, 'fail'), { text: /reported an error:\nno luck/, result: { isError: true } })
    t.match(await call(tools, 'refuse'), {
      text: /a is missing/,
      result: { isError: true },
      failure: undefined
    })
    t.equal(
      (await call(tools, 'image')).text,
      '[image image/png, 3 bytes, not shown]\n[resource file:///a.txt]\ninside\n[resource file:///b.txt: b]'
    )
    t.match(await call(tools, 'no such tool'), {
      text: /Unknown tool `no such tool`/,
      result: { isError: true }
    })
  })

  t.test('valid images are passed on if the model accepts images', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t), { mcp_servers: server.url })
    const jpeg = Buffer.from('ffd8ffe000104a46494600', 'hex').toString('base64')
    const ask = async (data: string, seesImages: boolean): Promise<ToolOutcome> =>
      await tools.call('image', { data }, { signal, seesImages })
    t.match(
      await ask(jpeg, true),
      {
        text: /^\[image 1, shown after the results\]\n\[resource/,
        images: [`data:image/jpeg;base64,${jpeg}`]
      },
      'by its bytes'
    )
    t.match(await ask(jpeg, false), { text: /^\[image image\/png, 11 bytes, not shown\]/, images: [] })
    t.match(await ask('AAAA', true), { text: /not shown/, images: [] }, 'a provider would refuse it')
    t.match(await ask('/9j/'.repeat(1_250_000), true), { text: /not shown/, images: [] }, 'too large')
  })

  t.test('a result that is too long is cut between characters, with a note', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t, { resultBytes: 1001 }), { mcp_servers: server.url })
    const { text } = await call(tools, 'flood')
    t.equal(text, `${'é'.repeat(500)}\n[cut: the first 1001 of 100000 bytes]`)
  })

  t.test('a tool that times out or loses its connection gives an error result', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t, { callMs: 400 }), { mcp_servers: server.url })
    t.match(await call(tools, 'slow'), {
      text: /in time/,
      result: { isError: true },
      failure: { code: 'call' }
    })
    await until(() => server.cancelled.length === 1, 'one cancelled tool call')
    t.match(await call(tools, 'drop'), { result: { isError: true }, failure: { code: 'call' } })
    t.match(await call(tools, 'echo'), { text: 'echo: {}' }, 'and the next call works')
  })

  t.test('a caller who disconnects cancels the call at the server and closes its socket', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t, { callMs: 60_000 }), { mcp_servers: server.url })
    const leaving = new AbortController()
    const slow = tools.call('slow', {}, { signal: leaving.signal })
    await until(() => server.counts['tool slow'] === 1, 'the slow tool to be called')
    const reason = new Error('gone')
    leaving.abort(reason)
    await t.rejects(slow, reason)
    await until(
      () => server.cancelled.length === 1 && server.waiting.size === 0,
      'the tool call to be cancelled and to end'
    )
    t.match(await call(tools, 'echo'), { text: 'echo: {}' })
    t.equal(server.counts['initialize'], 1)
  })

  t.test('a caller who disconnects while servers are being opened does not wait', async t => {
    const server = await startToolServer(t, { silent: ['initialize'] })
    const leaving = new AbortController()
    const opening = open(
      toolServers(t, { connectMs: 60_000 }),
      { mcp_servers: server.url },
      { signal: leaving.signal }
    )
    await until(() => server.counts['initialize'] === 1, 'the server to be initialized')
    leaving.abort(new Error('gone'))
    await t.rejects(opening, /gone/)
  })

  t.test('progress of a tool is passed on', async t => {
    const server = await startToolServer(t)
    const tools = await open(toolServers(t), { mcp_servers: server.url })
    const reported: unknown[] = []
    await tools.call('progress', {}, { signal, onProgress: progress => reported.push(progress) })
    t.match(reported, [{ progress: 1, total: 2 }])
  })
})
