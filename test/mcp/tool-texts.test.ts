import t from 'tap'
import { ToolTexts } from '../../lib/mcp/tool-texts.ts'
import { routedCall } from '../support/stages.ts'
import { ticksDuring } from '../support/ticks-during.ts'
import { replacement, word, wordStages } from '../support/word-stages.ts'
import type { RoutedChatCall } from '../../lib/chat/input.ts'
import type { TurnToolCall } from '../../lib/chat/turn.ts'

const chat: RoutedChatCall = routedCall({ model: 'm', messages: [] })
const call: TurnToolCall = {
  id: 'c1',
  name: 'look',
  arguments: { place: word },
  argumentsText: `{ "place":"${word}" }`,
  extra: {}
}

t.test('a tool gets redacted arguments, and the next turn repeats them', async t => {
  const texts = new ToolTexts(wordStages(['tool_call']), chat)
  const [called] = (await texts.called([call])) as [TurnToolCall]
  t.same(called, {
    ...call,
    arguments: { place: replacement },
    argumentsText: `{ "place":"${replacement}" }`
  })
  const said = texts.withSentArguments(
    {
      role: 'assistant',
      tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: call.argumentsText } }]
    },
    [{ call: called, outcome: undefined }]
  )
  t.match(said, { tool_calls: [{ function: { arguments: called.argumentsText } }] })
  t.match(
    await texts.called([{ ...call, arguments: undefined, argumentsText: `in ${word}` }]),
    [{ arguments: undefined, argumentsText: `in ${replacement}` }],
    'what is no JSON is none afterwards'
  )
})

t.test('the model and the caller get the redacted result', async t => {
  const outcome = {
    text: `in ${word}`,
    result: { toolName: 'look', serverName: 's', arguments: {}, isError: false, result: { at: [word] } }
  }
  const [returned] = await new ToolTexts(wordStages(['tool_result']), chat).returned([{ call, outcome }])
  t.match(returned, {
    call,
    outcome: { text: `in ${replacement}`, result: { toolName: 'look', result: { at: [replacement] } } }
  })
})

t.test('large results and arguments are searched in slices', async t => {
  const said = `${'x'.repeat(99_998)} ${word} `.repeat(20)
  const expected = said.replaceAll(word, replacement)
  const texts = new ToolTexts(wordStages(['tool_call', 'tool_result']), chat)
  const result = { toolName: 'look', serverName: 's', arguments: {}, isError: false, result: { at: [said] } }
  let returned: Awaited<ReturnType<typeof texts.returned>> = []
  let turns = await ticksDuring(async () => {
    returned = await texts.returned([{ call, outcome: { text: said, result } }])
  })
  t.ok(turns > 19, `${turns} turns`)
  const [{ outcome } = { outcome: undefined }] = returned
  t.same([outcome?.text, outcome?.result.result], [expected, { at: [expected] }])
  let called: readonly TurnToolCall[] = []
  const given = { ...call, arguments: { place: said }, argumentsText: JSON.stringify({ place: said }) }
  turns = await ticksDuring(async () => { called = await texts.called([given]) })
  t.ok(turns > 19, `${turns} turns`)
  t.same(called, [
    { ...call, arguments: { place: expected }, argumentsText: JSON.stringify({ place: expected }) }
  ])
})

t.test('without guards at these points nothing changes', async t => {
  for (const stages of [undefined, wordStages(['request', 'answer'])]) {
    const texts = new ToolTexts(stages, chat)
    const finished = { call, outcome: undefined }
    t.same(await texts.called([call]), [call])
    t.same(await texts.returned([finished]), [finished])
    t.same(texts.withSentArguments({ role: 'assistant' }, []), { role: 'assistant' })
  }
})
