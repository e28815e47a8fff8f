import t from 'tap'
import { body } from '../../support/anthropic-answers.ts'

t.test('a tool is forced where the model allows it', async t => {
  for (const model of [
    'claude-opus-5',
    'claude-opus-5-20260724',
    'claude-fable-5',
    'claude-fable-5-20260609',
    'claude-haiku-5-5',
    'claude-sonnet-4-6'
  ]) {
    const { tool_choice: choice } = body(
      { tools: [{ type: 'function', function: { name: 'now' } }], tool_choice: 'required' },
      model
    )
    t.same(choice, { type: 'any' }, model)
  }
})
