import { once } from 'node:events'
import t from 'tap'
import { runTools, type RunOptions } from '../../lib/mcp/run-tools.ts'
import { turns } from '../support/turns.ts'
import { withResolvers } from '../support/with-resolvers.ts'
import type { TurnToolCall } from '../../lib/chat/turn.ts'
import type { OpenTools, ToolCallOptions } from '../../lib/mcp/tool-servers.ts'

const call = (id: string, args: TurnToolCall['arguments'] = {}): TurnToolCall => ({
  id,
  name: `srv__${id}`,
  arguments: args,
  argumentsText: '',
  extra: {}
})
const result = (name: string) => ({
  toolName: name,
  serverName: 'srv',
  arguments: {},
  isError: false,
  durationMs: 3
})

function servers (answer: OpenTools['call']): OpenTools {
  const offered = ['a', 'b'].map(name => ({
    name: `srv__${name}`,
    serverName: 'srv',
    tool: { name, inputSchema: { type: 'object' as const } }
  }))
  return {
    tools: [],
    listBytes: 0,
    errors: {},
    call: answer,
    offered,
    byName: new Map(offered.map(tool => [tool.name, tool]))
  }
}

async function run (calls: TurnToolCall[], open: OpenTools, options: Partial<RunOptions> = {}) {
  const running = runTools(calls, open, {
    signal: new AbortController().signal,
    emitProgress: false,
    seesImages: false,
    refusals: [],
    ...options
  })
  const events: unknown[] = []
  for (;;) {
    const step = await running.next()
    if (step.done === true) return { events, ran: step.value }
    for (const event of step.value) events.push('fields' in event ? event.fields['tool_event'] : event)
  }
}

t.test('calls run concurrently, and their outcomes keep the order of the calls', async t => {
  const first = withResolvers<void>()
  const { ran, events } = await run([call('a'), call('b')], servers(async name => {
    if (name === 'srv__a') await first.promise
    else first.resolve()
    return { text: name, result: result(name) }
  }))
  t.same(ran.map(({ call, outcome }) => [call.id, outcome?.text]), [['a', 'srv__a'], ['b', 'srv__b']])
  t.same(events, [], 'no progress unless it was requested')
})

t.test('progress has the name and the server of the tool', async t => {
  const { events } = await run([call('a')], servers(async (_name, _args, { onProgress }) => {
    onProgress?.({ progress: 1, total: 2, message: 'half' })
    return await Promise.resolve({ text: 'x', result: result('a') })
  }), { emitProgress: true })
  const facts = { id: 'a', name: 'a', server_name: 'srv' }
  t.strictSame(events, [
    { type: 'tool-start', ...facts },
    { type: 'tool-progress', ...facts, progress: 1, total: 2, message: 'half' },
    { type: 'tool-end', ...facts, is_error: false, duration_ms: 3 }
  ])
})

t.test(
  'unread progress is reduced to the latest of each call, in order',
  async t => {
    const [go, end] = [withResolvers<void>(), withResolvers<void>()]
    const reports = new Map<string, ToolCallOptions['onProgress']>()
    const running = runTools(
      [call('a'), call('b')],
      servers(async (name, _args, { onProgress }) => {
        reports.set(name, onProgress)
        for (let progress = 1; progress <= 1000; progress++) onProgress?.({ progress })
        await (name === 'srv__a' ? go : end).promise
        return { text: name, result: result(name) }
      }),
      { signal: new AbortController().signal, emitProgress: true, seesImages: false, refusals: [] }
    )
    const read = async (): Promise<unknown[]> => {
      const { value } = await running.next()
      return (value ?? []).map(event => ('fields' in event ? event.fields['tool_event'] : event))
    }
    t.match(await read(), [
      { type: 'tool-start', id: 'a' },
      { type: 'tool-progress', id: 'a', progress: 1000 },
      { type: 'tool-start', id: 'b' },
      { type: 'tool-progress', id: 'b', progress: 1000 }
    ])
    for (const progress of [1001, 1002]) for (const report of reports.values()) report?.({ progress })
    const latest = await read()
    t.match(
      latest,
      [
        { type: 'tool-progress', id: 'a', progress: 1002 },
        { type: 'tool-progress', id: 'b', progress: 1002 }
      ],
      'what was read is not replaced'
    )
    t.equal(latest.length, 2)
    go.resolve()
    t.match(await read(), [{ type: 'tool-end', id: 'a' }])
    end.resolve()
    t.match(await read(), [{ type: 'tool-end', id: 'b' }])
    t.equal((await running.next()).done, true)
  }
)

t.test('arguments that are not an object give an error result without a call', async t => {
  let called = false
  const { ran } = await run(
    [{ ...call('x'), arguments: undefined }],
    servers(async () => {
      called = true
      return await Promise.reject(new Error('never'))
    })
  )
  t.strictSame(ran[0]?.outcome, {
    text: 'The tool was not called: The arguments must be a JSON object.',
    result: {
      toolName: 'srv__x',
      serverName: '',
      arguments: {},
      isError: true,
      result: 'The arguments must be a JSON object.'
    }
  })
  t.equal(called, false)
})

t.test(
  'a refused call gets the reason as its result, with the name and the server of the tool',
  async t => {
    const called: string[] = []
    const noted: unknown[] = []
    const { ran, events } = await run(
      [call('a'), call('b')],
      servers(async name => {
        called.push(name)
        return await Promise.resolve({ text: name, result: result(name) })
      }),
      {
        emitProgress: true,
        refusals: ['Too many.'],
        onEnd: ({ toolName, outcome }) => noted.push([toolName, outcome])
      }
    )
    t.same(called, ['srv__b'])
    t.strictSame(ran[0]?.outcome, {
      text: 'The tool was not called: Too many.',
      result: { toolName: 'a', serverName: 'srv', arguments: {}, isError: true, result: 'Too many.' }
    })
    t.match(events, [
      { type: 'tool-start', id: 'b' },
      { type: 'tool-end', id: 'b' }
    ])
    t.same(noted, [
      ['a', 'not_run'],
      ['b', 'ok']
    ])
  }
)

t.test('an aborted call has no outcome; any other failure is thrown', async t => {
  const over = new AbortController()
  const broken = servers(async () => {
    over.abort()
    return await Promise.reject(new Error('aborted'))
  })
  t.same(
    (await run([call('a')], broken, { signal: over.signal })).ran.map(({ outcome }) => outcome),
    [undefined]
  )
  await t.rejects(
    run(
      [call('a')],
      servers(async () => await Promise.reject(new Error('broken')))
    ),
    { message: 'broken' }
  )
})

t.test('a refused outcome ends the other calls, and the end of each is recorded', async t => {
  const noted: unknown[] = []
  await t.rejects(
    run(
      [call('a'), call('b')],
      servers(async (name, _args, { signal }) => {
        if (name === 'srv__b') {
          await once(signal, 'abort')
          await turns(3) // it informs its server
          signal.throwIfAborted()
        }
        return { text: name, result: result(name) }
      }),
      {
        onOutcome: () => { throw new Error('no memory') },
        onEnd: ({ toolName, outcome }) => noted.push([toolName, outcome])
      }
    ),
    { message: 'no memory' }
  )
  t.same(noted, [
    ['a', 'ok'],
    ['b', 'cancelled']
  ])
})
