/**
 * In dialects other than chat completions, requests are read and answers written in time linear in their
 * size.
 */

import t from 'tap'
import { answers } from './answer-events.ts'
import { scalesWith } from '../support/scaling.ts'
import { fitRequest } from '../../lib/dialects/messages/fit.ts'
import { countTokensInput, messagesInput, type MessagesContext } from '../../lib/dialects/messages/input.ts'
import { messages } from '../../lib/dialects/messages/index.ts'
import { responsesDialect } from '../../lib/dialects/responses/index.ts'
import { chatCompletions } from '../../lib/dialects/chat-completions/index.ts'
import { textCompletions } from '../../lib/dialects/text-completions/index.ts'
import { textInput } from '../../lib/dialects/text-completions/input.ts'
import { CallRecord } from '../../lib/core/record.ts'
import { responsesCall, responsesStart } from '../support/responses.ts'
import { routedCall } from '../support/stages.ts'
import type { AnswerDialect, AnswerHead, AnswerStart } from '../../lib/dialects/dialect.ts'
import type { ChatEvent } from '../../lib/core/events.ts'
import type { ChatInput } from '../../lib/chat/input.ts'
import type { MessagesRequest } from '../../schemas/messages-request.ts'
import type { TextCompletionRequest } from '../../schemas/text-completions.ts'
import type { ResponsesRequest } from '../../schemas/responses.ts'

type Body = (size: number) => object

const list = <T>(size: number, item: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => item(index))
const properties = (size: number): object => ({
  type: 'object',
  properties: Object.fromEntries(list(size, index => [`p${index}`, { type: 'string' }]))
})

const user = (content: unknown): object => ({ role: 'user', content })
const use = (index: number): object => ({
  type: 'tool_use',
  id: `toolu_${index}`,
  name: 'get',
  input: { a: index }
})
const used = (index: number): object => ({
  type: 'tool_result',
  tool_use_id: `toolu_${index}`,
  content: 'ok'
})

const messageRequests: Readonly<Record<string, Body>> = {
  'messages of a conversation': size => ({
    messages: list(size, index => (index % 2 === 0 ? user('hi') : { role: 'assistant', content: 'hi' }))
  }),
  'messages of one user': size => ({ messages: list(size, () => user('hi')) }),
  'system messages among others': size => ({
    messages: list(size, index => (index % 2 === 0 ? user('hi') : { role: 'system', content: 'hi' }))
  }),
  'blocks of a message': size => ({
    messages: [user(list(size, index => ({ type: 'text', text: `number ${index}` })))]
  }),
  'blocks of a system prompt': size => ({
    messages: [user('hi')],
    system: list(size, () => ({ type: 'text', text: 'a' }))
  }),
  'a long text': size => ({ messages: [user('a '.repeat(size * 16))] }),
  'tool calls of one turn': size => ({
    messages: [user('hi'), { role: 'assistant', content: list(size, use) }, user(list(size, used))]
  }),
  'tool calls in turns of their own': size => ({
    messages: [
      user('hi'),
      ...list(size, index => [{ role: 'assistant', content: [use(index)] }, user([used(index)])]).flat()
    ]
  }),
  'tool results in reverse': size => ({
    messages: [
      user('hi'),
      { role: 'assistant', content: list(size, use) },
      user(list(size, used).toReversed())
    ]
  }),
  'thinking blocks': size => ({
    messages: [
      user('hi'),
      {
        role: 'assistant',
        content: list(size, () => ({ type: 'thinking', thinking: 'a', signature: 'b' }))
      },
      user('hi')
    ]
  }),
  'tools': size => ({
    messages: [user('hi')],
    tools: list(size, index => ({ name: `get_${index}`, input_schema: { type: 'object' } }))
  }),
  'tools with names that providers do not take': size => ({
    messages: [user('hi')],
    tools: list(size, index => ({
      name: `get.${'x'.repeat(70)}.${index}`,
      input_schema: { type: 'object' }
    }))
  }),
  'properties of a tool': size => ({
    messages: [user('hi')],
    tools: [{ name: 'get', input_schema: properties(size) }]
  }),
  'fields that no schema names': size => ({
    messages: [user('hi')],
    ...Object.fromEntries(list(size, index => [`x${index}`, index]))
  })
}

const target = {
  route: { providerId: 'one', model: 'm', modelId: 'one/m' },
  provider: {},
  model: undefined,
  account: () => ''
}

t.test('requests of the Messages API become conversations in linear time', async t => {
  for (const [name, body] of Object.entries(messageRequests)) {
    scalesWith(t, name, {
      from: 128,
      doublings: 3,
      input: size =>
        routedCall<MessagesRequest>({ model: 'one/m', max_tokens: 10, messages: [], ...body(size) }),
      run: call => {
        // Copies the value, as the function runs several times.
        const { request, context } = messagesInput({ ...call })
        fitRequest(request, target, context)
        countTokensInput({ ...call })
      }
    })
  }
})

const call = (index: number): object => ({
  type: 'function_call',
  call_id: `call_${index}`,
  name: 'get',
  arguments: '{}'
})
const result = (index: number): object => ({
  type: 'function_call_output',
  call_id: `call_${index}`,
  output: 'ok'
})

const responseRequests: Readonly<Record<string, Body>> = {
  'messages': size => ({
    input: list(size, index => ({ role: index % 2 === 0 ? 'user' : 'assistant', content: 'hi' }))
  }),
  'system messages among others': size => ({
    input: list(size, index => ({ role: index % 2 === 0 ? 'user' : 'developer', content: 'hi' }))
  }),
  'parts of a message': size => ({
    input: [user(list(size, index => ({ type: 'input_text', text: `number ${index}` })))]
  }),
  'a long text': size => ({ input: 'a '.repeat(size * 16) }),
  'calls, then their results': size => ({ input: [user('hi'), ...list(size, call), ...list(size, result)] }),
  'calls in turns of their own': size => ({
    input: [user('hi'), ...list(size, index => [call(index), result(index)]).flat()]
  }),
  'results in reverse': size => ({
    input: [user('hi'), ...list(size, call), ...list(size, result).toReversed()]
  }),
  'reasoning items': size => ({
    input: [
      user('hi'),
      ...list(size, index => [
        { type: 'reasoning', id: `rs_${index}`, summary: [] },
        call(index),
        result(index)
      ]).flat()
    ]
  }),
  'tools': size => ({
    input: 'hi',
    tools: list(size, index => ({ type: 'function', name: `get_${index}`, parameters: { type: 'object' } }))
  }),
  'tools of a namespace': size => ({
    input: 'hi',
    tools: [
      {
        type: 'namespace',
        name: 'n',
        description: '',
        tools: list(size, index => ({
          type: 'function',
          name: `get_${index}`,
          parameters: { type: 'object' }
        }))
      }
    ]
  }),
  'properties of a tool': size => ({
    input: 'hi',
    tools: [{ type: 'function', name: 'get', parameters: properties(size) }]
  }),
  'fields that no schema names': size => ({
    input: 'hi',
    ...Object.fromEntries(list(size, index => [`x${index}`, index]))
  })
}

t.test('requests of the Responses API become conversations in linear time', async t => {
  for (const [name, body] of Object.entries(responseRequests)) {
    scalesWith(t, name, {
      from: 128,
      doublings: 3,
      input: size => body(size) as Partial<ResponsesRequest>,
      run: responsesCall
    })
  }
})

const head: AnswerHead = { type: 'answer-start', id: '1', model: 'm', createdSeconds: 1 }
const messagesContext: MessagesContext = {
  request: { model: 'one/m', messages: [] },
  keyId: 'key',
  hidesThinking: false,
  toolNames: new Map(),
  untranslatable: undefined,
  direct: { routes: new Set() }
}

/** Names the parts of an answer that become blocks and items. */
const blocks = new Set([
  'log probabilities',
  'texts',
  'thinking blocks',
  'annotations',
  'calls',
  'arguments of a call',
  'results of tools'
])

function answersScale<C> (
  dialect: string,
  { encode, complete }: AnswerDialect<C>,
  startOf: () => AnswerStart<C>
): void {
  t.test(`answers of ${dialect} are written in linear time`, async t => {
    for (const [name, events] of Object.entries(answers)) {
      if (!blocks.has(name)) continue
      const input = (size: number): ChatEvent[] => [head, ...events(size)]
      scalesWith(t, `${name}, streamed`, { doublings: 3, input, run: all => {
        const printer = encode(startOf())
        for (const event of all) printer.print([event])
        printer.end()
      } })
      scalesWith(t, `${name}, complete`, { doublings: 3, input, run: all => {
        const start = startOf()
        complete(start, [{ call: start.call, route: start.call.routes[0], events: all }])
      } })
    }
  })
}

const textStart = (): AnswerStart => {
  const call = {
    ...routedCall<ChatInput>({ model: 'one/m', messages: [] }),
    record: new CallRecord('completions')
  }
  return { head, call, route: call.routes[0], context: undefined }
}
const messagesStart = (): AnswerStart<MessagesContext> => {
  const call = {
    ...routedCall<ChatInput>({ model: 'one/m', messages: [] }),
    record: new CallRecord('messages')
  }
  return { head, call, route: call.routes[0], context: messagesContext }
}

answersScale('the Messages API', messages, messagesStart)
answersScale('the Responses API', responsesDialect(), () => responsesStart())

t.test('prompts of text completions become conversations in linear time', async t => {
  scalesWith(t, 'a long prompt', {
    from: 1024,
    doublings: 3,
    input: size => routedCall<TextCompletionRequest>({ model: 'one/m', prompt: 'a '.repeat(size * 16) }),
    run: call => textInput({ ...call })
  })
  scalesWith(t, 'bias for many tokens', {
    doublings: 3,
    input: size =>
      routedCall<TextCompletionRequest>({
        model: 'one/m',
        prompt: 'a',
        logit_bias: Object.fromEntries(list(size, index => [String(index), 1]))
      }),
    run: call => textInput({ ...call })
  })
})

t.test('an event may have more items than a function call accepts as arguments', t => {
  const many = 150_000
  const events: ChatEvent[] = [
    head,
    {
      type: 'text-delta',
      choice: 0,
      text: 'a',
      logprobs: { content: list(many, () => ({ token: 'a', logprob: 0 })) }
    },
    {
      type: 'annotation-delta',
      choice: 0,
      annotations: list(many, () => ({ type: 'url_citation', url: 'https://a.example' }))
    },
    {
      type: 'text-delta',
      choice: 0,
      text: 'a',
      logprobs: { content: list(many, () => ({ token: 'a', logprob: 0 })) }
    },
    { type: 'choice-end', choice: 0, reason: 'stop' }
  ]
  const complete = <C>(dialect: AnswerDialect<C>, start: AnswerStart<C>): void => {
    t.ok(dialect.complete(start, [{ call: start.call, route: start.call.routes[0], events }]))
  }
  complete(chatCompletions, textStart())
  complete(textCompletions, textStart())
  complete(messages, messagesStart())
  const start = responsesStart()
  complete(responsesDialect(), {
    ...start,
    call: { ...start.call, request: { ...start.call.request, logprobs: true } }
  })
  t.end()
})
