import t from 'tap'
import { weather, time, query, user, send, textOf, complete, framesIn, folded } from '../support/sandbox.ts'
import type { Completion, Chunk } from '../support/sandbox.ts'

async function chunks (body: object): Promise<Chunk[]> {
  const frames = framesIn(await textOf(await send({ ...body, stream: true })))
  if (frames.pop() !== '[DONE]') throw new Error('The stream does not end with its mark.')
  return frames.map(frame => JSON.parse(frame))
}

/** The answer without what differs from one request to the next. */
function lasting ({ choices, model, usage, system_fingerprint }: Completion): object {
  const withoutIds = choices.map(choice => ({
    ...choice,
    message: { ...choice.message, tool_calls: choice.message.tool_calls?.map(call => ({ ...call, id: '' })) }
  }))
  return { choices: withoutIds, model, usage, system_fingerprint }
}

t.test('a stream folds into the complete answer, and the same request gives the same one', async t => {
  const questions: Record<string, object> = {
    echo: { messages: user('Hello 🌍, how are you?') },
    parts: {
      messages: user([
        { type: 'text', text: 'Look' },
        { type: 'image_url', image_url: { url: 'data:image/png;base64,' } }
      ])
    },
    story: { model: 'story', messages: user('a story of 40 words'), seed: 7 },
    'a thinker': { model: 'thinker', messages: user('Why?'), max_completion_tokens: 70 },
    'several choices': { messages: user('Hi'), n: 3 },
    'log probabilities': { messages: user('Hi'), logprobs: true, top_logprobs: 3 },
    'a refusal': { messages: user('Hi [sandbox: refuse]'), logprobs: true },
    'parallel tools': {
      messages: user('get_time and get_weather with {"city":"Rome and all of its surroundings"}'),
      tools: [weather, time]
    },
    'a custom tool': { messages: user('call run_sql with "select * from t"'), tools: [query] },
    'a legacy function': { messages: user('get_weather'), functions: [weather.function] },
    'a cut tool call': {
      messages: user('get_weather with {"a b":"c d e"}'),
      tools: [weather],
      max_tokens: 2
    },
    'a schema': {
      messages: user('x'),
      response_format: {
        type: 'json_schema',
        json_schema: { name: 'x', schema: { type: 'object', properties: { a: {} } } }
      }
    }
  }
  for (const [name, question] of Object.entries(questions)) {
    const body = { ...question, stream_options: { include_usage: true } }
    const answer = await complete(body)
    t.match(answer.id, /^chatcmpl-/)
    t.same(lasting(folded(await chunks(body))), lasting(answer), name)
    t.same(lasting(await complete(body)), lasting(answer), `${name}, again`)
  }
})

t.test('the frames of a stream come in the order of the dialect', async t => {
  const list = await chunks({
    messages: user('Hi'),
    n: 2,
    max_tokens: 2,
    stream_options: { include_usage: true }
  })
  t.same(
    list.map(({ choices: [choice] }) => choice && [choice.index, choice.delta, choice.finish_reason]),
    [
      [0, { role: 'assistant', content: '', refusal: null }, null],
      [1, { role: 'assistant', content: '', refusal: null }, null],
      [0, { content: 'This' }, null],
      [1, { content: '(Answer' }, null],
      [0, { content: ' is' }, null],
      [1, { content: ' 2.)' }, null],
      [0, {}, 'length'],
      [1, {}, 'length'],
      undefined
    ]
  )
  t.same(
    list.map(chunk => chunk.usage === null),
    [...Array(8).fill(true), false],
    'usage stands in the last chunk only'
  )
  t.equal(new Set(list.map(chunk => chunk.id)).size, 1)
  const without = await chunks({ messages: user('Hi') })
  t.notOk(
    without.some(chunk => 'usage' in chunk || chunk.choices.length === 0),
    'no usage unless it is requested'
  )
})
