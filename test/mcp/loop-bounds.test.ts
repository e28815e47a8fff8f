import t from 'tap'
import { LoopBounds, type LoopState } from '../../lib/mcp/loop-bounds.ts'
import type { TurnToolCall } from '../../lib/chat/turn.ts'

const call = (name: string, argumentsText = '{}'): TurnToolCall => ({
  id: name,
  name,
  argumentsText,
  arguments: {},
  extra: {}
})
const calls = (count: number): TurnToolCall[] =>
  Array.from({ length: count }, (_, index) => call(`tool ${index}`))
const limits = { loopMs: 1000, loopTokens: 100, callsPerTurn: 2, maxIdenticalCalls: 2 }
const state = (parts: Partial<LoopState> = {}): LoopState => ({
  turn: 1,
  outOfTime: false,
  tokens: 0,
  canAffordTurn: () => true,
  ...parts
})

t.test('a loop continues until a limit is reached', async t => {
  const loop = new LoopBounds(limits, { max_turns: 3 })
  t.equal(
    loop.stopReason([], state({ turn: 3, outOfTime: true })),
    undefined,
    'without calls it has ended by itself'
  )
  t.equal(loop.stopReason([call('a')], state({ turn: 2, tokens: 99 })), undefined)
  t.same([2, 3].map(turn => loop.isLastTurn(turn)), [false, true])
})

t.test('each limit has its reason, and the first one reached counts', async t => {
  const reason = (calls: TurnToolCall[], parts: Partial<LoopState>) =>
    new LoopBounds(limits, { max_turns: 3 }).stopReason(calls, state(parts))
  const broke = { canAffordTurn: () => false }
  t.equal(reason([call('a')], { turn: 3, outOfTime: true, tokens: 100, ...broke }), 'max_turns')
  t.equal(reason([call('a')], { outOfTime: true, tokens: 100, ...broke }), 'deadline')
  t.equal(reason([call('a')], { tokens: 100, ...broke }), 'tokens')
  t.equal(reason([call('a'), call('b'), call('c')], broke), 'budget')
  t.equal(reason([call('a'), call('b'), call('c')], {}), 'calls_per_turn')
})

t.test('identical calls are limited in number', async t => {
  const loop = new LoopBounds(limits, {})
  t.same(
    [1, 2, 3].map(turn =>
      loop.stopReason(
        [call('a', '{"x":1}'), call('a', '{"x":2}')].slice(0, turn === 3 ? 1 : 2),
        state({ turn })
      )
    ),
    [undefined, undefined, 'repeated_call']
  )
  t.equal(
    loop.stopReason([call('a', '{"x":3}')], state({ turn: 4 })),
    undefined,
    'other arguments are another call'
  )
})

t.test('ten turns is the default', async t => {
  const loop = new LoopBounds(limits, {})
  t.same([9, 10, 11].map(turn => loop.isLastTurn(turn)), [false, true, false])
})

t.test('the request limits the calls of all turns together', async t => {
  const loop = new LoopBounds(limits, { max_tool_calls: 3 })
  const refusal = 'The limit `max_tool_calls` of the request has been reached.'
  t.same(
    [2, 2, 1].map(count => loop.admit(calls(count))),
    [[undefined, undefined], [undefined, refusal], [refusal]]
  )
  t.same(
    new LoopBounds(limits, {}).admit(calls(100)),
    calls(100).map(() => undefined)
  )
})

t.test(
  'approved calls are limited per turn and by identical arguments, like those of the model',
  async t => {
    const perTurn = 'The maximum number of tool calls in one turn is 2.'
    t.same(new LoopBounds(limits, {}).admitApproved(calls(4)), [undefined, undefined, perTurn, perTurn])
    const identical = 'The maximum number of calls to a tool with the same arguments is 2.'
    const loop = new LoopBounds({ ...limits, callsPerTurn: 8 }, { max_tool_calls: 3 })
    t.same(loop.admitApproved([call('a'), call('a'), call('a'), call('a', '{"x":1}'), call('b')]), [
      undefined,
      undefined,
      identical,
      undefined,
      'The limit `max_tool_calls` of the request has been reached.'
    ])
    t.equal(loop.stopReason([call('b')], state()), undefined, 'one that was not run is not counted')
    t.equal(
      loop.stopReason([call('a')], state()),
      'repeated_call',
      'those that were run count with those of the model'
    )
  }
)
