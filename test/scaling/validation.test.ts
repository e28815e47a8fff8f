import t from 'tap'
import { dimensions } from './chat-bodies.ts'
import { scalesWith } from '../support/scaling.ts'
import { explain } from '../../lib/validation/explain.ts'
import { parseFormFields } from '../../lib/validation/form.ts'
import { ChatRequest } from '../../schemas/chat.ts'
import { EmbeddingsRequest } from '../../schemas/embeddings.ts'
import { TranscriptionRequest } from '../../schemas/transcription.ts'

const list = <T>(size: number, item: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => item(index))

t.test('chat requests are validated in linear time', async t => {
  for (const { name, body, ...sizes } of dimensions) {
    // Last, so that everything before it is checked.
    scalesWith(t, `${name}, and a wrong temperature`, {
      ...sizes,
      input: size => ({ model: 'm', ...body(size), temperature: 'x' }),
      run: value => explain(ChatRequest, value)
    })
  }
  const wrong: Readonly<Record<string, (size: number) => object>> = {
    'messages of no known role': size => ({ messages: list(size, () => ({ role: 'bot' })) }),
    'messages that are wrong at their end': size => ({
      messages: list(size, index => ({ role: 'user', content: index === size - 1 ? 7 : 'hi' }))
    }),
    'parts of no known type': size => ({
      messages: [{ role: 'user', content: list(size, () => ({ type: 'none' })) }]
    }),
    'a text where a list is wanted': size => ({ messages: 'hi', tools: 'a'.repeat(size) }),
    'a long name of a role': size => ({ messages: [{ role: 'a'.repeat(size) }] }),
    'tools that are none': size => ({ messages: 'hi', tools: list(size, index => index) }),
    'models that are none': size => ({ messages: 'hi', model: list(size, index => index) }),
    'keys of metadata': size => ({
      messages: 'hi',
      metadata: Object.fromEntries(list(size, index => [`k${index}`, 'v']))
    }),
    'a long key of metadata': size => ({ messages: 'hi', metadata: { ['k'.repeat(size)]: 'v' } }),
    'attributes out of range': size => ({
      messages: 'hi',
      model_attributes: Object.fromEntries(list(size, index => [`m${index}`, { cost: 2 }]))
    }),
    'credentials that are none': size => ({ messages: 'hi', credentials: list(size, () => ({})) }),
    'a slug of many characters': size => ({ messages: 'hi', mcp_servers: { slug: 'a-'.repeat(size) } })
  }
  for (const [name, body] of Object.entries(wrong)) {
    scalesWith(t, name, {
      from: 512,
      input: size => ({ model: 'm', ...body(size) }),
      run: value => explain(ChatRequest, value)
    })
  }
})

t.test('embedding inputs are validated in linear time', async t => {
  const inputs: Readonly<Record<string, (size: number) => unknown>> = {
    texts: size => [...list<unknown>(size, () => 'a'), 7],
    tokens: size => [...list<unknown>(size, index => index), 'a'],
    'lists of tokens': size => [...list<unknown>(size, () => [1, 2]), ['a']],
    'one long list of tokens': size => [[...list<unknown>(size, index => index), 'a']]
  }
  for (const [name, input] of Object.entries(inputs)) {
    scalesWith(t, name, {
      from: 512,
      input: size => ({ model: 'm', input: input(size) }),
      run: value => explain(EmbeddingsRequest, value)
    })
  }
})

t.test('forms are read in time linear in their fields', async t => {
  const fields: Readonly<Record<string, (size: number) => Record<string, string | string[]>>> = {
    'fields that no schema names': size => Object.fromEntries(list(size, index => [`x${index}`, 'y'])),
    'members of an object': size =>
      Object.fromEntries(list(size, index => [`chunking_strategy[k${index}]`, 'y'])),
    'values with commas': size => ({ 'include[]': ','.repeat(size) }),
    'values that are repeated': size => ({ 'include[]': list(size, () => 'logprobs') }),
    'a long number': size => ({ temperature: '1'.repeat(size) }),
    'a number that is none': size => ({ temperature: `${'1'.repeat(size)}x` }),
    'a long object': size => ({ chunking_strategy: `{"type":"${'a'.repeat(size)}"` })
  }
  for (const [name, make] of Object.entries(fields)) {
    scalesWith(t, name, { from: 512, input: size => ({ fields: make(size), files: {} }), run: form => {
      const { values } = parseFormFields(TranscriptionRequest, form)
      explain(TranscriptionRequest, values)
    } })
  }
})
