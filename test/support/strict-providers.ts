/**
 * Plays Anthropic and Gemini in a conversation of three turns with thinking and tools, and enforces what they
 * require: thinking in the history must have the signatures they gave it.
 */

/** The parts of a request that a strict provider checks: tool results, and correctly returned thinking. */
interface Seen { readonly results: number, readonly intact: boolean }

export interface StrictProvider {
  readonly model: string
  /** True if callers see the signature in `thinking_blocks`. */
  readonly signed: boolean
  readonly see: (request: Record<string, unknown>) => Seen
  readonly answer: (turn: number) => object
  /** The same answer as the events of a stream. */
  readonly stream: (turn: number) => readonly object[]
}

const thought = 'I should look that up.'
const turns = [
  [{ name: 'get_weather', city: 'Paris' }, { name: 'get_time', city: 'Paris' }],
  [{ name: 'get_weather', city: 'Rome' }],
  []
]

/** Different in every turn, so that none can replace another. */
const signature = (turn: number): string => Buffer.from(`signed by the model ${turn}`).toString('base64')
const said = 'Paris is sunny at noon.'

function list (value: unknown, key: string): Array<Record<string, unknown>> {
  const found: unknown = Reflect.get(Object(value), key)
  return Array.isArray(found) ? found : []
}

function geminiParts (turn: number): object[] {
  const calls = turns[turn] ?? []
  if (calls.length === 0) return [{ text: said }]
  return [{ text: thought, thought: true }, ...calls.map(({ name, city }, at) => ({
    functionCall: { name, args: { city } }, ...at === 0 && { thoughtSignature: signature(turn) }
  }))]
}

function geminiAnswer (parts: object[], more: object = {}): object {
  return {
    candidates: [{ index: 0, content: { role: 'model', parts }, ...more }],
    usageMetadata: { promptTokenCount: 1, candidatesTokenCount: 2 }
  }
}

function claudeBlocks (turn: number): Array<Record<string, unknown>> {
  const calls = turns[turn] ?? []
  if (calls.length === 0) return [{ type: 'text', text: said }]
  return [
    { type: 'thinking', thinking: thought, signature: signature(turn) },
    ...calls.map(({ name, city }, at) => ({
      type: 'tool_use',
      id: `toolu_${turn}_${at}`,
      name,
      input: { city }
    }))
  ]
}

export const strictProviders: Readonly<Record<'anthropic' | 'google', StrictProvider>> = {
  google: {
    model: 'google/gemini-3-pro-preview',
    signed: false,
    see: request => {
      const contents = list(request, 'contents')
      const spoken = contents
        .filter(({ role }) => role === 'model')
        .map(content => list(content, 'parts').find(part => 'functionCall' in part))
      return {
        results: contents
          .flatMap(content => list(content, 'parts'))
          .filter(part => 'functionResponse' in part).length,
        intact: spoken.every((part, turn) => part?.['thoughtSignature'] === signature(turn))
      }
    },
    answer: turn => geminiAnswer(geminiParts(turn), { finishReason: 'STOP' }),
    stream: turn => [
      ...geminiParts(turn).map(part => geminiAnswer([part])),
      geminiAnswer([{ text: '' }], { finishReason: 'STOP' })
    ]
  },
  anthropic: {
    model: 'anthropic/claude-sonnet-4-5',
    signed: true,
    see: request => {
      const messages = list(request, 'messages')
      const spoken = messages
        .filter(({ role }) => role === 'assistant')
        .map(message => list(message, 'content')[0])
      return {
        results: messages
          .flatMap(message => list(message, 'content'))
          .filter(({ type }) => type === 'tool_result').length,
        intact: spoken.every(
          (block, turn) => block?.['signature'] === signature(turn) && block['thinking'] === thought
        )
      }
    },
    answer: turn => ({
      id: 'msg',
      type: 'message',
      role: 'assistant',
      content: claudeBlocks(turn),
      stop_reason: turn < 2 ? 'tool_use' : 'end_turn',
      usage: { input_tokens: 1, output_tokens: 2 }
    }),
    stream: turn => [
      {
        type: 'message_start',
        message: { id: 'msg', content: [], usage: { input_tokens: 1, output_tokens: 1 } }
      },
      ...claudeBlocks(turn).flatMap((block, index) => {
        const delta = (delta: object): object => ({ type: 'content_block_delta', index, delta })
        const [empty, ...deltas] =
          block['type'] === 'thinking'
            ? [
                { type: 'thinking', thinking: '', signature: '' },
                delta({ type: 'thinking_delta', thinking: thought }),
                delta({ type: 'signature_delta', signature: block['signature'] })
              ]
            : block['type'] === 'tool_use'
              ? [
                  { ...block, input: {} },
                  delta({ type: 'input_json_delta', partial_json: JSON.stringify(block['input']) })
                ]
              : [{ type: 'text', text: '' }, delta({ type: 'text_delta', text: block['text'] })]
        return [
          { type: 'content_block_start', index, content_block: empty },
          ...deltas,
          { type: 'content_block_stop', index }
        ]
      }),
      {
        type: 'message_delta',
        delta: { stop_reason: turn < 2 ? 'tool_use' : 'end_turn' },
        usage: { output_tokens: 2 }
      },
      { type: 'message_stop' }
    ]
  }
}
