import type { ChatEvent } from '../../lib/core/events.ts'

const list = <T>(size: number, item: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => item(index))
const end = (choice: number): ChatEvent => ({ type: 'choice-end', choice, reason: 'stop' })

/** Makes the events of an answer with many of one thing, by the name of the thing. */
export const answers: Readonly<Record<string, (size: number) => ChatEvent[]>> = {
  texts: size => [
    ...list(size, (): ChatEvent => ({ type: 'text-delta', choice: 0, text: 'word ' })),
    end(0)
  ],
  reasoning: size => [
    ...list(size, (): ChatEvent => ({ type: 'reasoning-delta', choice: 0, text: 'word ' })),
    end(0)
  ],
  'log probabilities': size => [
    ...list(size, (): ChatEvent => ({
      type: 'text-delta',
      choice: 0,
      text: 'a',
      logprobs: { content: [{ token: 'a', logprob: 0 }] }
    })),
    end(0)
  ],
  annotations: size => [
    ...list(size, (index): ChatEvent => ({
      type: 'annotation-delta',
      choice: 0,
      annotations: [{ type: 'url_citation', url_citation: { url: `https://a.example/${index}` } }]
    })),
    end(0)
  ],
  'thinking blocks': size => [
    ...list(size, (): ChatEvent => ({
      type: 'thinking-block',
      choice: 0,
      block: { type: 'thinking', thinking: 'a' }
    })),
    end(0)
  ],
  sound: size => [
    ...list(size, (): ChatEvent => ({ type: 'audio-delta', choice: 0, audio: { data: 'AAAA' } })),
    end(0)
  ],
  choices: size => [
    ...list(size, (choice): ChatEvent => ({ type: 'text-delta', choice, text: 'a' })),
    ...list(size, end)
  ],
  calls: size => [
    ...list(size, (call): ChatEvent => ({
      type: 'tool-call-start',
      choice: 0,
      callIndex: call,
      id: `c${call}`,
      name: 'get',
      kind: 'function'
    })),
    end(0)
  ],
  'arguments of a call': size => [
    { type: 'tool-call-start', choice: 0, callIndex: 0, id: 'c', name: 'get', kind: 'function' },
    ...list(size, (): ChatEvent => ({
      type: 'tool-call-delta',
      choice: 0,
      callIndex: 0,
      text: '{"a":',
      kind: 'function'
    })),
    end(0)
  ],
  'results of tools': size => [
    ...list(size, (index): ChatEvent => ({
      type: 'tool-result',
      result: { toolName: `t${index}`, serverName: 's', arguments: {}, isError: false }
    })),
    end(0)
  ],
  'failed servers': size => [
    ...list(size, (index): ChatEvent => ({
      type: 'tool-servers-failed',
      errors: { [`s${index}`]: { message: 'no' } }
    })),
    end(0)
  ],
  'unknown fields of a message': size => [
    ...list(size, (index): ChatEvent => ({
      type: 'extra',
      scope: 'message',
      choice: 0,
      fields: { [`x${index}`]: 1 }
    })),
    end(0)
  ],
  'unknown fields of an answer': size => [
    ...list(size, (index): ChatEvent => ({ type: 'extra', scope: 'answer', fields: { [`x${index}`]: 1 } })),
    end(0)
  ]
}
