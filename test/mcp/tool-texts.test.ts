import t from 'tap'
import { ToolTexts } from '../../lib/mcp/tool-texts.ts'
import { routedCall } from '../support/stages.ts'
import { replacement, word, wordStages } from '../support/word-stages.ts'
import type { RoutedChatCall } from '../../lib/chat/input.ts'
import type { TurnToolCall } from '../../lib/chat/turn.ts'

const chat: RoutedChatCall = routedCall({ model: 'm', messages: [] })
const call: TurnToolCall = { id: 'c1', name: 'look', arguments: { place: word }, argumentsText: `{ "place":"${word}" }`, extra: {} }

t.test('a tool gets what is left of its arguments, and the next turn repeats that', t => {
  const texts = new ToolTexts(wordStages(['tool_call']), chat)
  const called = texts.called(call)
  t.same(called, { ...call, arguments: { place: replacement }, argumentsText: `{ "place":"${replacement}" }` })
  const said = texts.said({ role: 'assistant', tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: call.argumentsText } }] }, [{ call: called, outcome: undefined }])
  t.match(said, { tool_calls: [{ function: { arguments: called.argumentsText } }] })
  t.equal(texts.called({ ...call, arguments: undefined, argumentsText: `in ${word}` }).arguments, undefined, 'what is no JSON is none afterwards')
  t.end()
})

t.test('the model and the caller get what is left of a result', t => {
  const outcome = { text: `in ${word}`, result: { toolName: 'look', serverName: 's', arguments: {}, isError: false, result: { at: [word] } } }
  const returned = new ToolTexts(wordStages(['tool_result']), chat).returned({ call, outcome })
  t.match(returned, { call, outcome: { text: `in ${replacement}`, result: { toolName: 'look', result: { at: [replacement] } } } })
  t.end()
})

t.test('without stages at these points all is as it was', t => {
  for (const stages of [undefined, wordStages(['request', 'answer'])]) {
    const texts = new ToolTexts(stages, chat)
    const finished = { call, outcome: undefined }
    t.equal(texts.called(call), call)
    t.equal(texts.returned(finished), finished)
    t.same(texts.said({ role: 'assistant' }, []), { role: 'assistant' })
  }
  t.end()
})
