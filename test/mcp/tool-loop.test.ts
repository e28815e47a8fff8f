import t from 'tap'
import { chain } from '../../lib/pipeline/chain.ts'
import { failureReport, ToolLoop, type AnswerTurn, type LoopOptions } from '../../lib/mcp/tool-loop.ts'
import { recordUsage } from '../../lib/stages/record-usage.ts'
import { routedCall } from '../support/stages.ts'
import { replacement, word, wordStages } from '../support/word-stages.ts'
import type { ChatInput, RoutedChatCall } from '../../lib/chat/input.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { OfferedTool, OpenTools } from '../../lib/mcp/tool-servers.ts'

const options: LoopOptions = {
  bounds: { loopMs: 60_000, loopTokens: 1000, callsPerTurn: 4, maxIdenticalCalls: 2 },
  seesImages: () => false,
  canAffordTurn: () => true
}
const one = { providerId: 'one', model: 'm', modelId: 'one/m' }
const two = { providerId: 'two', model: 'm', modelId: 'two/m' }
const start: ChatEvent = { type: 'answer-start' }

function usage (prompt: number, completion: number): ChatEvent {
  return {
    type: 'usage',
    usage: { promptTokens: prompt, completionTokens: completion, totalTokens: prompt + completion }
  }
}

function calls (name: string, id = 'a'): ChatEvent[] {
  return [
    { type: 'tool-call-start', choice: 0, callIndex: 0, kind: 'function', id, name },
    { type: 'tool-call-delta', choice: 0, callIndex: 0, kind: 'function', text: '{}' },
    { type: 'tool-call-end', choice: 0, callIndex: 0 },
    { type: 'choice-end', choice: 0, reason: 'tool_calls' }
  ]
}

function says (text: string): ChatEvent[] {
  return [{ type: 'text-delta', choice: 0, text }, { type: 'choice-end', choice: 0, reason: 'stop' }]
}

/** One tool, `look`, and a server that could not be reached. */
function tools (errors: OpenTools['errors'] = {}): OpenTools & { readonly called: string[] } {
  const called: string[] = []
  const look: OfferedTool = {
    name: 'look',
    serverName: 'mine',
    tool: { name: 'look', inputSchema: { type: 'object' } }
  }
  return {
    called,
    tools: [{ type: 'function', function: { name: 'look' } }],
    offered: [look],
    byName: new Map([['look', look]]),
    listBytes: 0,
    errors,
    call: async name => {
      called.push(name)
      return {
        text: `${name}: seen`,
        result: { toolName: name, serverName: 'mine', arguments: {}, result: 'seen', isError: false }
      }
    }
  }
}

async function run (
  turns: ReadonlyArray<readonly ChatEvent[]>,
  open: OpenTools,
  changes: Partial<LoopOptions> = {},
  request: Partial<ChatInput> = {}
) {
  const call: RoutedChatCall = routedCall<ChatInput>(
    { model: 'one/m', messages: [{ role: 'user', content: 'hi' }], ...request },
    { routes: [one, two] }
  )
  const turnCalls: RoutedChatCall[] = []
  const ask: AnswerTurn = async function * (source) {
    for await (const turn of source) {
      const events = turns[turnCalls.push(turn) - 1]
      if (events === undefined) throw new Error('no such turn')
      yield { call: turn, route: two, events }
    }
  }
  const loop = new ToolLoop(call, open, chain(ask, recordUsage()), { ...options, ...changes })
  const events: ChatEvent[] = []
  for await (const batch of loop.turns()) events.push(...batch.events)
  loop.end()
  return { call, turnCalls, events }
}

t.test('a tool call is run, and its result begins the next turn on the same route', async t => {
  const open = tools()
  const { call, turnCalls, events } = await run(
    [
      [start, ...calls('look'), usage(3, 1)],
      [...says('Seen.'), usage(5, 2)]
    ],
    open
  )
  t.same(open.called, ['look'])
  t.match(turnCalls[0]?.request.tools, [{ function: { name: 'look' } }])
  t.match(turnCalls[1], {
    routes: [two],
    request: {
      messages: [
        {},
        { role: 'assistant', tool_calls: [{ id: 'a' }] },
        { role: 'tool', tool_call_id: 'a', content: 'look: seen' }
      ]
    }
  })
  t.equal(call.record.tools.turns, 2)
  t.match(events, [
    start,
    { type: 'tool-result', result: { toolName: 'look' } },
    { type: 'text-delta', text: 'Seen.' },
    { type: 'choice-end', reason: 'stop' },
    { type: 'usage', usage: { promptTokens: 8, completionTokens: 3, totalTokens: 11 } }
  ])
  t.equal(events.length, 5, 'the call of the server does not appear')
})

t.test('a call that is not allowed is shown with the reason', async t => {
  const shown = (events: readonly ChatEvent[], reason: string, turns: number): void => {
    t.ok(
      events.some(event => event.type === 'tool-call-start'),
      reason
    )
    t.match(
      events.find(event => event.type === 'extra'),
      { fields: { tool_loop_stopped: { reason, turns } } }
    )
  }
  shown((await run([[start, ...calls('look')]], tools(), { canAffordTurn: () => false })).events, 'budget', 1)
  shown((await run([[start, ...calls('look'), usage(2000, 1)]], tools())).events, 'tokens', 1)
  shown((await run([[start, ...calls('look')]], tools(), {}, { max_turns: 1 })).events, 'max_turns', 1)
  const again = [start, ...calls('look')]
  shown((await run([again, again, again], tools())).events, 'repeated_call', 3)
})

t.test('of a turn that the time limit stops, only calls that did not run are shown', async t => {
  const open = tools()
  const slow: OpenTools = {
    ...open,
    call: async (name, args, options) =>
      'slow' in args
        ? await new Promise((_, reject) => {
          options.signal.addEventListener('abort', () => reject(options.signal.reason as Error))
        })
        : await open.call(name, args, options)
  }
  const turn: ChatEvent[] = ['{}', '{"slow":true}'].flatMap((text, callIndex): ChatEvent[] => [
    { type: 'tool-call-start', choice: 0, callIndex, kind: 'function', id: `c${callIndex}`, name: 'look' },
    { type: 'tool-call-delta', choice: 0, callIndex, kind: 'function', text },
    { type: 'tool-call-end', choice: 0, callIndex }
  ])
  const end: ChatEvent = { type: 'choice-end', choice: 0, reason: 'tool_calls' }
  const bounds = { ...options.bounds, loopMs: 1 }
  const { events } = await run([[start, ...turn, end]], slow, { bounds })
  t.match(events, [
    start,
    { type: 'tool-result', result: { result: 'seen' } },
    { type: 'tool-call-start', callIndex: 0, id: 'c1' },
    { type: 'tool-call-delta', callIndex: 0, text: '{"slow":true}' },
    { type: 'tool-call-end', callIndex: 0 },
    { type: 'extra', fields: { tool_loop_stopped: { reason: 'deadline', turns: 1 } } },
    end
  ])
  t.equal(events.length, 7)
})

t.test('calls whose results are too expensive for another turn are not shown again', async t => {
  let turns = 0
  const { events } = await run([[start, ...calls('look')]], tools(), { canAffordTurn: () => turns++ === 0 })
  t.match(events, [
    start,
    { type: 'tool-result', result: { result: 'seen' } },
    { type: 'extra', fields: { tool_loop_stopped: { reason: 'budget', turns: 1 } } },
    { type: 'choice-end', reason: 'stop' }
  ])
  t.equal(events.length, 4)
})

t.test('an answer has the usage of all turns or none, and its record estimates what is missing', async t => {
  const [called, seen] = [[start, ...calls('look')], says('Seen.')]
  for (const [turns, reported] of [
    [[called, [...seen, usage(20, 5)]], 25],
    [[[...called, usage(20, 5)], seen], 25],
    [[called, seen], 0]
  ] as const) {
    const { call, turnCalls, events } = await run(turns, tools())
    t.equal(turnCalls.length, 2)
    t.notOk(events.some(event => event.type === 'usage'), `${reported} tokens were reported`)
    t.ok((call.record.usage.total?.totalTokens ?? 0) > reported)
    t.equal(call.record.usage.isEstimated, true)
  }
})

t.test('tokens that a provider does not report are estimated for the limit', async t => {
  const again = [start, ...calls('look')]
  for (const [content, turns] of [
    ['x'.repeat(4000), 1],
    ['x'.repeat(2000), 2]
  ] as const) {
    const { turnCalls, events } = await run(
      [again, again, again],
      tools(),
      {},
      { messages: [{ role: 'user', content }] }
    )
    t.equal(turnCalls.length, turns)
    t.match(
      events.find(event => event.type === 'extra'),
      { fields: { tool_loop_stopped: { reason: 'tokens', turns } } }
    )
  }
})

t.test(
  'approved calls run up to the limit of one turn; the others get a result with the reason',
  async t => {
    const open = tools()
    const approved = Array.from({ length: 1000 }, (_, index) => ({
      id: `mcpr_${index}`,
      serverName: 'mine',
      toolName: 'look',
      argumentsText: `{"number":${index}}`
    }))
    const messages: ChatInput['messages'] = approved.flatMap(({ id, toolName, argumentsText }) => [
      {
        role: 'assistant' as const,
        tool_calls: [
          { id, type: 'function' as const, function: { name: toolName, arguments: argumentsText } }
        ]
      },
      { role: 'tool' as const, tool_call_id: id, content: '' }
    ])
    const { turnCalls, events } = await run(
      [[start, ...says('Seen.')]],
      open,
      {},
      { messages, toolApproval: { isNeeded: () => true, calls: approved, approved } }
    )
    t.equal(open.called.length, options.bounds.callsPerTurn)
    const results = events.flatMap(event => (event.type === 'tool-result' ? [event.result] : []))
    t.equal(results.length, approved.length)
    t.match(results[3], { approvalId: 'mcpr_3', toolName: 'look', serverName: 'mine', isError: false })
    t.match(results[4], {
      approvalId: 'mcpr_4',
      toolName: 'look',
      serverName: 'mine',
      isError: true,
      result: 'The maximum number of tool calls in one turn is 4.'
    })
    t.match(turnCalls[0]?.request.messages.at(-1), {
      role: 'tool',
      tool_call_id: 'mcpr_999',
      content: 'The tool was not called: The maximum number of tool calls in one turn is 4.'
    })
  }
)

t.test('approval of a call at an unavailable server runs no tool of another one', async t => {
  const open = tools({ gone: { message: 'no', code: 'connect' } })
  const approved = ['gone', 'mine'].map(serverName => ({
    id: `mcpr_${serverName}`,
    serverName,
    toolName: 'look',
    argumentsText: '{}'
  }))
  const messages: ChatInput['messages'] = approved.flatMap(({ id }) => [
    {
      role: 'assistant' as const,
      tool_calls: [{ id, type: 'function' as const, function: { name: 'look', arguments: '{}' } }]
    },
    { role: 'tool' as const, tool_call_id: id, content: '' }
  ])
  const { turnCalls, events } = await run(
    [[start, ...says('Seen.')]],
    open,
    {},
    { messages, toolApproval: { isNeeded: () => true, calls: approved, approved } }
  )
  t.strictSame(open.called, ['look'])
  t.match(
    events.flatMap(event => (event.type === 'tool-result' ? [event.result] : [])),
    [
      {
        approvalId: 'mcpr_gone',
        serverName: 'gone',
        toolName: 'look',
        arguments: {},
        isError: true,
        result: 'The tool server no longer offers this tool.'
      },
      { approvalId: 'mcpr_mine', serverName: 'mine', isError: false }
    ]
  )
  t.match(turnCalls[0]?.request.messages, [
    {},
    { content: 'The tool was not called: The tool server no longer offers this tool.' },
    {},
    { content: 'look: seen' }
  ])

  const calls = approved.map(call => ({ ...call, argumentsText: JSON.stringify({ place: word }) }))
  const looked = await run(
    [[start, ...says('Seen.')]],
    tools(),
    { textGuards: wordStages(['tool_call']) },
    { messages, toolApproval: { isNeeded: () => true, calls, approved: calls } }
  )
  const [gone] = looked.events.flatMap(event => (event.type === 'tool-result' ? [event.result] : []))
  t.match(
    gone,
    { approvalId: 'mcpr_gone', arguments: { place: replacement } },
    'guards that inspect calls of tools see those that are not run as well'
  )
})

t.test('guards on tool calls also inspect calls that the loop did not run', async t => {
  const turn = calls('look').map(event =>
    event.type === 'tool-call-delta' ? { ...event, text: JSON.stringify({ place: word }) } : event
  )
  const { events } = await run(
    [[start, ...turn]],
    tools(),
    { textGuards: wordStages(['tool_call']) },
    { max_turns: 1, toolApproval: { isNeeded: () => false, calls: [], approved: [] } }
  )
  t.match(
    events.flatMap(event => (event.type === 'tool-result' ? [event.result] : [])),
    [{ arguments: { place: replacement }, result: 'The tool loop stopped before this call (max_turns).' }]
  )
})

t.test(
  'thinking is that of the last turn, or of each turn where server tools are reported',
  async t => {
    const thought = (signature: string): ChatEvent => ({
      type: 'thinking-block',
      choice: 0,
      block: { type: 'thinking', thinking: 'hm', signature }
    })
    const turns = [
      [start, thought('1'), ...calls('look')],
      [thought('2'), ...says('Seen.')]
    ]
    const shown = async (request: Partial<ChatInput>): Promise<unknown[]> =>
      (await run(turns, tools(), {}, request)).events.flatMap(event =>
        event.type === 'thinking-block'
          ? [event.block.type === 'thinking' && event.block.signature]
          : [event.type]
      )
    t.strictSame(await shown({}), ['answer-start', 'tool-result', 'text-delta', '2', 'choice-end'])
    t.strictSame(await shown({ toolApproval: { isNeeded: () => false, calls: [], approved: [] } }), [
      'answer-start',
      'tools-listed',
      '1',
      'tool-result',
      '2',
      'text-delta',
      'choice-end'
    ])
  }
)

t.test("calls to the caller's own tools end the answer", async t => {
  const open = tools()
  const { turnCalls, events } = await run(
    [[start, ...calls('mine')]],
    open,
    {},
    { tools: [{ type: 'function', function: { name: 'mine' } }] }
  )
  t.same(open.called, [])
  t.equal(turnCalls.length, 1)
  t.match(
    events.map(({ type }) => type),
    ['answer-start', 'tool-call-start', 'tool-call-delta', 'tool-call-end', 'choice-end']
  )
})

t.test('failed servers are reported at the end', async t => {
  // as `tool-servers` reports them
  const errors = { broken: { message: 'no', code: 'connect_failed' } } as never
  const { events } = await run([[start, ...says('Hi.')]], tools(errors))
  t.same(events.at(-2), { type: 'tool-servers-failed', errors })
  t.same(failureReport({}), [])
})
