import t, { type Test } from 'tap'
import { createToolServers, type OpenTools, type ToolServers } from '../../lib/mcp/tool-servers.ts'
import { chain } from '../../lib/pipeline/chain.ts'
import { once } from '../../lib/pipeline/sources.ts'
import { createModels } from '../../lib/models/create-models.ts'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import { toolExecute } from '../../lib/stages/tool-execute.ts'
import type { ToolBounds } from '../../lib/mcp/loop-bounds.ts'
import { kinds } from '../../lib/providers/kinds.ts'
import { modelSettings, provider, providerSettings, settings } from '../support/settings.ts'
import { routedCall } from '../support/stages.ts'
import { startToolServer } from '../support/tool-server.ts'
import { until } from '../support/until.ts'
import type { Batch } from '../../lib/core/call.ts'
import type { Route } from '../../lib/core/route.ts'
import type { ChatInput, RoutedChatCall } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { Stage } from '../../lib/pipeline/stage.ts'

type ChatBatch = Batch<ChatInput, ChatEvent>

const limits: ToolBounds = { loopMs: 60_000, loopTokens: 1_000_000, callsPerTurn: 8, maxIdenticalCalls: 2 }
const first: Route = { providerId: 'one', model: 'm', modelId: 'one/m' }
const second: Route = { providerId: 'two', model: 'm', modelId: 'two/m' }

const start: ChatEvent = { type: 'answer-start' }
const ownTool = named('mine_own')

const noTools: ToolServers = {
  warmUp: async () => {},
  open: async (): Promise<OpenTools> => { throw new Error('no tools were requested') },
  close: async () => {}
}

t.test('without tool servers the call goes to the model unchanged', async t => {
  const model = scripted([[...text('hi'), end('stop')]])
  for (const request of [{}, { mcp_servers: [] }, { mcp_servers: 'a/b', tool_choice: 'none' as const }]) {
    const call = chatCall(request)
    await collect(looped(noTools, model.ask, limits), call)
    t.equal(model.calls.at(-1), call)
  }
})

t.test('the wait for tool servers is no overhead of the gateway, even if it fails', async t => {
  const failing: ToolServers = {
    ...noTools,
    open: async () => {
      await new Promise(resolve => setImmediate(resolve))
      throw new Error('the tools cannot be listed')
    }
  }
  const call = chatCall({ mcp_servers: 'a/b' })
  await t.rejects(collect(looped(failing, scripted([]).ask, limits), call), /cannot be listed/)
  t.ok(call.record.times.upstreamWaitMs > 0)
})

t.test('tools run in turns', async t => {
  t.test('a model gets the results of its calls, in order, and the caller one answer', async t => {
    const server = await startToolServer(t)
    const thinking = { type: 'thinking', thinking: 'hm', signature: 'sig' } as const
    const model = scripted([
      [
        start, ...text('Let me look.'), { type: 'reasoning-delta', choice: 0, text: 'hm' },
        { type: 'thinking-block', choice: 0, block: thinking },
        ...toolCall(0, 'a', 'echo', '{"x":1}', { extra_content: { google: { thought_signature: 's' } } }),
        ...toolCall(1, 'b', 'fail', ''), end('tool_calls'), usage(10, 5, 2)
      ],
      [start, ...text('It is 1.'), end('stop'), usage(20, 7)]
    ])
    const call = chatCall({
      mcp_servers: { url: server.url, name: 'mine' },
      tools: [ownTool],
      tool_choice: 'required'
    })
    const batches = await collect(looped(realTools(t), model.ask, limits), call)

    t.ok(batches.every(batch => batch.call === call))
    const events = batches.flatMap(batch => batch.events)
    t.match(events, [
      { type: 'answer-start' },
      { type: 'text-delta', text: 'Let me look.' },
      { type: 'reasoning-delta' },
      {
        type: 'tool-result',
        result: { toolName: 'echo', serverName: 'mine', arguments: { x: 1 }, isError: false }
      },
      { type: 'tool-result', result: { toolName: 'fail', isError: true } },
      { type: 'text-delta', text: '\n\n' },
      { type: 'text-delta', text: 'It is 1.' },
      { type: 'choice-end', reason: 'stop' },
      {
        type: 'usage',
        usage: { promptTokens: 30, completionTokens: 12, totalTokens: 42, reasoningTokens: 2 }
      }
    ])
    t.equal(events.length, 9)
    t.equal(call.record.usage.total?.totalTokens, 42)

    const [one, two] = model.calls
    t.strictSame(one?.request.tools?.slice(0, 2).map(nameOf), ['mine_own', 'echo'])
    t.equal(one?.request.tool_choice, 'required')
    t.equal(two?.request.tool_choice, 'auto', 'a model forced to call again would never answer')
    t.strictSame(two?.routes, [second], 'later turns stay with the model of the first')
    t.strictSame(two?.request.messages.slice(1), [
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'Let me look.' }],
        turn_order: ['text', 'thinking', 'call', 'call'],
        reasoning_content: 'hm',
        thinking_blocks: [thinking],
        tool_calls: [
          {
            id: 'a', type: 'function', function: { name: 'echo', arguments: '{"x":1}' },
            extra_content: { google: { thought_signature: 's' } }
          },
          { id: 'b', type: 'function', function: { name: 'fail', arguments: '{}' } }
        ]
      },
      { role: 'tool', tool_call_id: 'a', content: 'echo: {"x":1}' },
      { role: 'tool', tool_call_id: 'b', content: 'The tool reported an error:\nno luck' }
    ])
  })

  t.test('text is sent as it is written, before the turn has ended', async t => {
    const server = await startToolServer(t)
    let turns = 0
    const ask: Stage<RoutedChatCall, ChatBatch> = async function * (source) {
      for await (const call of source) {
        if (++turns === 2) {
          yield { call, route: first, events: [...text('done'), end('stop')] }
          return
        }
        yield { call, route: first, events: [start, ...text('now')] }
        t.equal(shown, 'now')
        yield { call, route: first, events: [...toolCall(0, 'a', 'echo', '{}'), end('tool_calls')] }
      }
    }
    let shown = ''
    for await (const { events } of looped(
      realTools(t),
      ask,
      limits
    )(once(chatCall({ mcp_servers: server.url })))) {
      for (const event of events) if (event.type === 'text-delta') shown += event.text
    }
    t.equal(shown, 'now\n\ndone')
  })

  t.test("a call to the caller's own tool ends the answer once the turn's server calls have run", async t => {
    const server = await startToolServer(t)
    const block: ChatEvent = {
      type: 'thinking-block',
      choice: 0,
      block: { type: 'redacted_thinking', data: 'x' }
    }
    const model = scripted([
      [start, ...toolCall(0, 'z', 'echo', '{}'), end('tool_calls')],
      [
        block,
        ...toolCall(0, 'a', 'echo', '{}'),
        ...toolCall(1, 'b', 'mine_own', '{"q":1}'),
        ...toolCall(2, 'c', 'counted', ''),
        end('stop')
      ]
    ])
    const events = await answer(t, model.ask, { mcp_servers: server.url, tools: [ownTool] })
    t.match(events.slice(2), [
      { type: 'tool-call-start', callIndex: 0, id: 'b', name: 'mine_own' },
      { type: 'tool-call-delta', callIndex: 0, text: '{"q":1}' },
      { type: 'tool-call-end', callIndex: 0 },
      { type: 'tool-result', result: { toolName: 'echo' } },
      { type: 'tool-result', result: { toolName: 'counted', result: { times: 1 } } },
      { type: 'thinking-block' },
      { type: 'choice-end', reason: 'tool_calls' }
    ])
    t.equal(model.calls.length, 2)
  })

  t.test(
    'a call with broken arguments or of an unknown tool gets a result with the error',
    async t => {
      const server = await startToolServer(t)
      const model = scripted([
        [...toolCall(0, 'a', 'echo', '{"x":'), ...toolCall(1, 'b', 'imagined', '{}'), end('tool_calls')],
        [...text('sorry'), end('stop')]
      ])
      await answer(t, model.ask, { mcp_servers: server.url })
      t.match(model.calls[1]?.request.messages.slice(1), [
        { tool_calls: [{ function: { arguments: '{}' } }, {}] },
        { tool_call_id: 'a', content: /must be a JSON object/ },
        { tool_call_id: 'b', content: /Unknown tool/ }
      ])
      t.equal(server.counts['tool echo'], undefined)
    }
  )

  t.test('images follow the results of the turn, for a model that accepts images', async t => {
    const server = await startToolServer(t)
    const png = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1').toString('base64')
    const model = scripted([
      [
        ...toolCall(0, 'a', 'image', `{"data":"${png}"}`),
        ...toolCall(1, 'b', 'echo', '{}'),
        end('tool_calls')
      ],
      [...text('a picture'), end('stop')]
    ])
    const look = async (route: Route): Promise<unknown> => {
      const stage = looped(realTools(t), model.ask, limits, second.modelId)
      await collect(stage, chatCall({ mcp_servers: server.url }, { routes: [route] }))
      return model.calls.at(-1)?.request.messages.slice(2)
    }
    t.match(await look(second), [
      { role: 'tool', tool_call_id: 'a', content: /^\[image 1, shown after the results\]/ },
      { role: 'tool', tool_call_id: 'b' },
      {
        role: 'user',
        content: [
          { type: 'text', text: /image \(a\)/ },
          { type: 'image_url', image_url: { url: `data:image/png;base64,${png}` } }
        ]
      }
    ])
    model.calls.length = 0
    t.match(await look(first), [{ content: /not shown/ }, { role: 'tool', tool_call_id: 'b' }])
    t.equal(model.calls.at(-1)?.request.messages.length, 4)
  })

  t.test('an answer cut off in the middle of a call ends there', async t => {
    const server = await startToolServer(t)
    const model = scripted([[...toolCall(0, 'a', 'echo', '{"x":'), end('length')]])
    t.match(await answer(t, model.ask, { mcp_servers: server.url }), [
      { type: 'choice-end', reason: 'length' }
    ])
    t.equal(model.calls.length, 1)
  })

  t.test('a failure of a later turn comes after the finished ones', async t => {
    const server = await startToolServer(t)
    let turns = 0
    const ask: Stage<RoutedChatCall, ChatBatch> = async function * (source) {
      for await (const call of source) {
        if (++turns === 2) throw new Error('overloaded')
        yield { call, route: first, events: [...toolCall(0, 'a', 'echo', '{}'), end('tool_calls')] }
      }
    }
    const events: ChatEvent[] = []
    await t.rejects(async () => {
      for await (const batch of looped(
        realTools(t),
        ask,
        limits
      )(once(chatCall({ mcp_servers: server.url })))) {
        events.push(...batch.events)
      }
    }, /overloaded/)
    t.match(events, [{ type: 'tool-result' }])
  })
})

t.test('options of the request about tools', async t => {
  t.test('with automatic execution off the calls are returned unchanged', async t => {
    const server = await startToolServer(t)
    for (const request of [
      { automatic_tool_execution: false, n: 2 },
      { disable_automatic_function_calling: true }
    ]) {
      const model = scripted([[start, ...toolCall(0, 'a', 'echo', '{}'), end('tool_calls')]])
      const routes: RoutedChatCall['routes'] = [{ ...first, providerId: 'gemini' }]
      const events = await answer(
        t,
        model.ask,
        { mcp_servers: [server.url, 'no/such'], ...request },
        { routes }
      )
      t.match(events, [
        { type: 'answer-start' },
        { type: 'tool-servers-failed', errors: { 'no/such': { code: 'resolve' } } },
        { type: 'tool-call-start', name: 'echo' },
        {},
        {},
        { type: 'choice-end', reason: 'tool_calls' }
      ])
      t.equal(model.calls[0]?.request.tools?.length, 9)
    }
    t.equal(server.counts['tool echo'], undefined)
  })

  t.test("Google's field applies to providers of its kind, whatever their names", async t => {
    const server = await startToolServer(t)
    const model = scripted([
      [start, ...toolCall(0, 'a', 'echo', '{}'), end('tool_calls')],
      [start, ...text('done'), end('stop')]
    ])
    const routes: RoutedChatCall['routes'] = [{ ...first, providerId: 'google' }]
    await answer(
      t,
      model.ask,
      { mcp_servers: server.url, disable_automatic_function_calling: true },
      { routes }
    )
    t.equal(server.counts['tool echo'], 1)
  })

  t.test('several choices cannot be combined with server tools', async t => {
    await t.rejects(answer(t, scripted([]).ask, { mcp_servers: 'a/b', n: 2 }), {
      code: 'unsupported_parameter', status: 400, param: 'n'
    })
    for (const settings of [{ n: 2 }, { generation_config: { candidate_count: 2 } }]) {
      const routes: RoutedChatCall['routes'] = [first, { ...first, settings }]
      await t.rejects(
        answer(t, scripted([]).ask, { mcp_servers: 'a/b' }, { routes }),
        { code: 'unsupported_parameter', param: 'n' },
        'nor can one that a model is given'
      )
    }
  })

  t.test(
    "a tool is chosen by its own name or its server's, and only in the first turn",
    async t => {
      const server = await startToolServer(t)
      const choose = async (request: Partial<ChatInput>): Promise<unknown[]> => {
        const model = scripted([[...toolCall(0, 'a', 's__echo', '{}'), end('tool_calls')], [end('stop')]])
        await answer(t, model.ask, {
          mcp_servers: { url: server.url, name: 's' },
          tools: [named('echo')],
          ...request
        })
        return model.calls.map(
          ({ request }) => request.tool_choice ?? request.tool_config ?? request.function_call
        )
      }
      const asFunction = (name: string): unknown => ({ type: 'function', function: { name } })
      t.strictSame(await choose({ tool_choice: { server_label: 's', name: 'echo' } }), [
        asFunction('s__echo'),
        'auto'
      ])
      t.strictSame(await choose({ tool_choice: { type: 'function', function: { name: 'echo' } } }), [
        asFunction('echo'),
        'auto'
      ])
      t.strictSame(
        await choose({ tool_choice: { type: 'tool', name: 'fail', disable_parallel_tool_use: true } }),
        [
          { type: 'tool', name: 'fail', disable_parallel_tool_use: true },
          { type: 'auto', disable_parallel_tool_use: true }
        ]
      )
      t.strictSame(
        await choose({
          tool_choice: { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [] } }
        }),
        [
          { type: 'allowed_tools', allowed_tools: { mode: 'required', tools: [] } },
          { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: [] } }
        ]
      )
      t.strictSame(await choose({ tool_choice: 'auto' }), ['auto', 'auto'])
      t.strictSame(await choose({ tool_config: { functionCallingConfig: { mode: 'ANY' }, other: 1 } }), [
        { functionCallingConfig: { mode: 'ANY' }, other: 1 },
        { functionCallingConfig: { mode: 'AUTO' }, other: 1 }
      ])
      t.strictSame(await choose({ function_call: { name: 'x' } }), [{ name: 'x' }, 'auto'])
    }
  )

  t.test('failed servers are reported once, at the end, with those that failed later', async t => {
    const server = await startToolServer(t)
    const model = scripted([
      [start, ...toolCall(0, 'a', 'drop', '{}'), end('tool_calls'), usage(1, 1)],
      [...text('well'), end('stop'), usage(1, 1)]
    ])
    const events = await answer(t, model.ask, { mcp_servers: [{ url: server.url, name: 'mine' }, 'no/such'] })
    t.match(events.slice(-3), [
      { type: 'tool-servers-failed', errors: { 'no/such': { code: 'resolve' }, mine: { code: 'call' } } },
      { type: 'choice-end' }, { type: 'usage' }
    ])
    const none = scripted([[start, ...text('alone'), end('stop')]])
    t.match(await answer(t, none.ask, { mcp_servers: 'no/such' }), [
      {}, { text: 'alone' }, { type: 'tool-servers-failed' }, { type: 'choice-end' }
    ])
    t.equal(none.calls[0]?.request.tools, undefined)
  })

  t.test('tool events report progress as it happens', async t => {
    const server = await startToolServer(t)
    const model = scripted([
      [start, ...toolCall(0, 'a', 'progress', '{}'), end('tool_calls')], [...text('done'), end('stop')]
    ])
    const events = await answer(t, model.ask, {
      mcp_servers: { url: server.url, name: 'mine' },
      stream: true,
      stream_options: { include_tool_events: true }
    })
    const toolEvents = events.flatMap(event =>
      event.type === 'extra' && event.scope === 'answer' && event.alone === true
        ? [event.fields['tool_event']]
        : []
    )
    t.match(toolEvents, [
      { type: 'tool-start', id: 'a', name: 'progress', server_name: 'mine' },
      { type: 'tool-progress', progress: 1, total: 2 },
      { type: 'tool-end', is_error: false, duration_ms: Number }
    ])
    t.equal(toolEvents.length, 3)
  })

  t.test('a caller who reads slowly gets the latest progress, however much a tool reports', async t => {
    const server = await startToolServer(t)
    const model = scripted([
      [...toolCall(0, 'a', 'progress', '{"times":200}'), end('tool_calls')],
      [...text('done'), end('stop')]
    ])
    const call = chatCall({
      mcp_servers: server.url,
      stream: true,
      stream_options: { include_tool_events: true }
    })
    const sizes: number[] = []
    for await (const { events } of looped(realTools(t), model.ask, limits)(once(call))) {
      await until(() => call.record.tools.runs?.length === 1, 'the call of the tool to end')
      sizes.push(events.length)
      if (sizes.length === 2) {
        t.match(events, [
          { fields: { tool_event: { type: 'tool-progress', progress: Number } } },
          { fields: { tool_event: { type: 'tool-end' } } }
        ])
      }
    }
    t.same(sizes.slice(0, 2), [1, 2])
  })
})

t.test('an answer that stops early shows the pending calls and the reason', async t => {
  const server = await startToolServer(t)
  const turn = (args = '{}', calls = 1): ChatEvent[] => [
    ...Array.from({ length: calls }, (_, index) => toolCall(index, `c${index}`, 'echo', args)).flat(),
    end('tool_calls'),
    usage(1, 1)
  ]
  const pending = (reason: string, turns: number): unknown[] => [
    { type: 'tool-call-start', callIndex: 0, id: 'c0', name: 'echo' },
    { type: 'tool-call-delta', callIndex: 0 },
    { type: 'tool-call-end', callIndex: 0 },
    { type: 'extra', scope: 'answer', fields: { tool_loop_stopped: { reason, turns } } },
    { type: 'choice-end', reason: 'tool_calls' },
    { type: 'usage', usage: { totalTokens: 2 * turns } }
  ]

  await t.test('at max_turns', async t => {
    for (const max_turns of [1, 2]) {
      const model = scripted([turn('{"a":1}'), turn('{"a":2}'), turn('{"a":3}')])
      const events = await answer(t, model.ask, { mcp_servers: server.url, max_turns })
      t.match(events.slice(-6), pending('max_turns', max_turns))
      t.equal(model.calls.length, max_turns)
    }
  })

  await t.test('after ten turns by default', async t => {
    const model = scripted(Array.from({ length: 20 }, (_, number) => turn(`{"a":${number}}`)))
    await answer(t, model.ask, { mcp_servers: server.url })
    t.equal(model.calls.length, 10)
  })

  await t.test('when the same call is repeated', async t => {
    const model = scripted([turn(), turn(), turn(), turn()])
    t.match((await answer(t, model.ask, { mcp_servers: server.url })).slice(-6), pending('repeated_call', 3))
  })

  await t.test('when the tokens of all turns reach their limit', async t => {
    for (const [loopTokens, turns] of [[2, 1], [3, 2], [4, 2]] as const) {
      const model = scripted([turn('{"a":1}'), turn('{"a":2}'), [...text('done'), end('stop')]])
      const batches = await collect(
        looped(realTools(t), model.ask, { ...limits, loopTokens }),
        chatCall({ mcp_servers: server.url })
      )
      t.match(batches.flatMap(batch => batch.events).slice(-6), pending('tokens', turns))
      t.equal(model.calls.length, turns)
    }
    const enough = scripted([turn('{"a":1}'), [...text('done'), end('stop'), usage(1, 1)]])
    const batches = await collect(
      looped(realTools(t), enough.ask, { ...limits, loopTokens: 3 }),
      chatCall({ mcp_servers: server.url })
    )
    t.match(
      batches.flatMap(batch => batch.events).slice(-2),
      [{ type: 'choice-end', reason: 'stop' }, { type: 'usage' }],
      'an answer that is finished is not stopped'
    )
  })

  await t.test('when a turn makes too many calls', async t => {
    const model = scripted([turn('{}', 9)])
    const events = await answer(t, model.ask, { mcp_servers: server.url })
    t.match(
      events.filter(({ type }) => type === 'extra'),
      [{ fields: { tool_loop_stopped: { reason: 'calls_per_turn', turns: 1 } } }]
    )
    t.strictSame(
      events.flatMap(event => (event.type === 'tool-call-start' ? [event.callIndex] : [])),
      [0, 1, 2, 3, 4, 5, 6, 7, 8]
    )
  })

  await t.test('when the time for all turns is up', async t => {
    const model = scripted([[...toolCall(0, 'c0', 'slow', '{}'), end('tool_calls')]])
    const events = await collect(
      looped(realTools(t), model.ask, { ...limits, loopMs: 100 }),
      chatCall({ mcp_servers: server.url })
    )
    t.match(
      events.flatMap(batch => batch.events),
      [
        { type: 'tool-call-start', id: 'c0' },
        {},
        {},
        { type: 'extra', fields: { tool_loop_stopped: { reason: 'deadline', turns: 1 } } },
        { type: 'choice-end' }
      ]
    )
    await until(() => server.cancelled.length > 0, 'a cancelled tool call')
  })
})

t.test('a caller who disconnects', async t => {
  t.test('cancels the running tools', async t => {
    const server = await startToolServer(t)
    const leaving = new AbortController()
    const model = scripted([[...toolCall(0, 'a', 'slow', '{}'), end('tool_calls')]])
    const answering = answer(t, model.ask, { mcp_servers: server.url }, { signal: leaving.signal })
    await until(() => server.counts['tool slow'] === 1, 'the slow tool to be called')
    leaving.abort(new Error('gone'))
    await t.rejects(answering, /gone/)
    await until(() => server.cancelled.length === 1, 'one cancelled tool call')
  })

  t.test('in the middle of tool events leaves nothing running', async t => {
    const server = await startToolServer(t)
    const model = scripted([[...toolCall(0, 'a', 'slow', '{}'), end('tool_calls')]])
    const call = chatCall({
      mcp_servers: server.url,
      stream: true,
      stream_options: { include_tool_events: true }
    })
    for await (const batch of looped(realTools(t), model.ask, limits)(once(call))) {
      t.match(batch.events, [{ type: 'extra' }])
      await until(() => server.counts['tool slow'] === 1, 'the slow tool to be called')
      break
    }
    await until(
      () => server.cancelled.length === 1 && server.waiting.size === 0,
      'the tool call to be cancelled and to end'
    )
  })

  t.test('returns the answer of the model', async t => {
    const server = await startToolServer(t)
    let returned = false
    const ask: Stage<RoutedChatCall, ChatBatch> = async function * (source) {
      for await (const call of source) {
        try {
          for (;;) yield { call, route: first, events: text('on and on') }
        } finally {
          returned = true
        }
      }
    }
    for await (const batch of looped(
      realTools(t),
      ask,
      limits
    )(once(chatCall({ mcp_servers: server.url })))) {
      t.ok(batch)
      break
    }
    t.ok(returned)
  })
})

function named (name: string) {
  return { type: 'function' as const, function: { name } }
}

function nameOf (tool: NonNullable<ChatInput['tools']>[number]): string {
  return 'custom' in tool ? tool.custom.name : tool.function.name
}

function text (words: string): ChatEvent[] {
  return [{ type: 'text-delta', choice: 0, text: words }]
}

function toolCall (
  call: number,
  id: string,
  name: string,
  args: string,
  extra?: Record<string, unknown>
): ChatEvent[] {
  return [
    {
      type: 'tool-call-start',
      choice: 0,
      callIndex: call,
      id,
      name,
      kind: 'function',
      ...extra !== undefined && { extra }
    },
    { type: 'tool-call-delta', choice: 0, callIndex: call, text: args, kind: 'function' },
    { type: 'tool-call-end', choice: 0, callIndex: call }
  ]
}

function end (reason: 'stop' | 'tool_calls' | 'length'): ChatEvent {
  return { type: 'choice-end', choice: 0, reason }
}

function usage (promptTokens: number, completionTokens: number, reasoningTokens?: number): ChatEvent {
  return {
    type: 'usage',
    usage: {
      promptTokens, completionTokens, totalTokens: promptTokens + completionTokens,
      ...reasoningTokens !== undefined && { reasoningTokens }
    }
  }
}

/**
 * A model that gives these answers, turn by turn, each event in a separate read, on the last of its routes.
 */
function scripted (turns: ChatEvent[][]): { ask: Stage<RoutedChatCall, ChatBatch>, calls: RoutedChatCall[] } {
  const calls: RoutedChatCall[] = []
  return {
    calls,
    ask: async function * (source) {
      for await (const call of source) {
        const events = turns[Math.min(calls.length, turns.length - 1)] ?? []
        calls.push(call)
        for (const event of events) yield { call, route: call.routes.at(-1) ?? first, events: [event] }
      }
    }
  }
}

function chatCall (request: Partial<ChatInput>, parts: Partial<RoutedChatCall> = {}): RoutedChatCall {
  return routedCall(
    { model: 'm', messages: [{ role: 'user', content: 'go' }], ...request },
    { routes: [first, second], ...parts }
  )
}

/** The stage over a model whose usage is recorded, with services that know one model that accepts images. */
function looped (
  tools: ToolServers,
  ask: Stage<RoutedChatCall, ChatBatch>,
  limits: ToolBounds,
  seeing?: string
): Stage<RoutedChatCall, ChatBatch> {
  const models = createModels(
    settings({
      providers: ['one', 'two'].map(id => providerSettings(id, 'openai-compatible')),
      models: seeing === undefined ? [] : [modelSettings(seeing, { capabilities: { vision: true } })]
    }),
    new Set(['one', 'two'])
  )
  const providers = new Map([
    ['gemini', { ...provider('gemini'), traits: kinds.google.traits ?? {} }],
    ['google', provider('google')]
  ])
  return toolExecute(
    { toolServers: tools, models, providers, settings: { tools: limits } },
    chain(ask, recordUsage())
  )
}

async function collect (stage: Stage<RoutedChatCall, ChatBatch>, call: RoutedChatCall): Promise<ChatBatch[]> {
  const batches: ChatBatch[] = []
  for await (const batch of stage(once(call))) batches.push(batch)
  return batches
}

async function answer (
  t: Test,
  ask: Stage<RoutedChatCall, ChatBatch>,
  request: Partial<ChatInput>,
  parts: Partial<RoutedChatCall> = {}
): Promise<ChatEvent[]> {
  const batches = await collect(looped(realTools(t), ask, limits), chatCall(request, parts))
  return batches.flatMap(batch => batch.events)
}

function realTools (t: Test): ToolServers {
  const { tools } = settings()
  const servers = createToolServers({
    toolServers: [],
    tools: {
      ...tools,
      connectMs: 20_000,
      callMs: 600_000,
      listTtlMs: 60_000,
      sessionIdleMs: 60_000,
      allowedHosts: ['127.0.0.1']
    }
  })
  t.teardown(async () => await servers.close())
  return servers
}
