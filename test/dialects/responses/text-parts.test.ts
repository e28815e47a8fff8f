import t from 'tap'
import { completeEvent, completeParts } from '../../../lib/dialects/responses/text-parts.ts'

t.test('text parts get the lists that a server left out', async t => {
  const part = { type: 'output_text', text: 'Hi' }
  const response = {
    output: [
      {
        type: 'message',
        content: [
          { ...part, annotations: [{ a: 1 }] },
          { ...part, x: 1 }
        ]
      }
    ]
  }
  t.same(JSON.parse(completeParts(JSON.stringify(response))), {
    output: [
      {
        type: 'message',
        content: [
          { ...part, annotations: [{ a: 1 }], logprobs: [] },
          { ...part, x: 1, annotations: [], logprobs: [] }
        ]
      }
    ]
  })
  t.same(JSON.parse(completeEvent('response.content_part.done', JSON.stringify({ part }))), {
    part: { ...part, annotations: [], logprobs: [] }
  })
  for (const kind of ['delta', 'done']) {
    t.same(JSON.parse(completeEvent(`response.output_text.${kind}`, '{"delta":"Hi"}')), {
      delta: 'Hi',
      logprobs: []
    })
  }
})

t.test('a text that looks like the name of a list is ignored', async t => {
  for (const delta of ['logprobs', 'annotations', 'output_text']) {
    t.same(
      JSON.parse(completeEvent('response.output_text.delta', JSON.stringify({ delta }))),
      { delta, logprobs: [] },
      delta
    )
    const part = { type: 'output_text', text: delta }
    t.same(
      JSON.parse(completeParts(JSON.stringify({ part }))),
      { part: { ...part, annotations: [], logprobs: [] } },
      delta
    )
    t.same(
      JSON.parse(completeParts(JSON.stringify({ part: { ...part, annotations: [] } }))),
      { part: { ...part, annotations: [], logprobs: [] } },
      delta
    )
  }
})

t.test('a text part that has the lists is unchanged, whatever else it contains', async t => {
  const part =
    '{ "type":"output_text", "logprobs":[], "annotations" : [], "text":"\\"output_text\\"", "n": 1.0 }'
  t.equal(completeParts(part), part)
  t.equal(completeEvent('response.content_part.added', part), part)
  for (const text of ['{"delta":"Hi","logprobs":[]}', '{"delta":"Hi", "logprobs" : [1.0]}']) {
    t.equal(completeEvent('response.output_text.delta', text), text)
  }
  t.equal(completeEvent('response.function_call_arguments.delta', '{"delta":"x"}'), '{"delta":"x"}')
  t.equal(completeEvent(undefined, '{"n":1.0}'), '{"n":1.0}')
})
