/** Chat requests with one part of a chosen size: everything that a caller can make large. */

export interface Dimension {
  readonly name: string
  readonly body: (size: number) => Record<string, unknown>
  /** The smallest size. */
  readonly from?: number
  readonly doublings?: number
}

const list = <T>(size: number, item: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => item(index))
const user = (content: unknown): object => ({ role: 'user', content })
const hi = [user('hi')]
const tool = (name: string, parameters: object = { type: 'object' }): object => ({
  type: 'function',
  function: { name, parameters }
})
const withSchema = (parameters: object): Record<string, unknown> => ({
  messages: hi,
  tools: [tool('get', parameters)]
})
const text = (value: string): object => ({ type: 'text', text: value })
const call = (index: number): object => ({
  id: `call_${index}`,
  type: 'function',
  function: { name: 'get', arguments: '{}' }
})
const result = (index: number): object => ({ role: 'tool', tool_call_id: `call_${index}`, content: 'ok' })

/** A schema nested as deeply as a body may be. */
function nested (depth: number): object {
  let schema: object = { type: 'string' }
  for (let level = 0; level < depth; level++) schema = { type: 'object', properties: { inner: schema } }
  return schema
}

/** Each definition refers to the next one twice: followed naively, the work doubles with each. */
function doubling (definitions: number, keyword: string): object {
  const entries = list(
    definitions,
    index =>
      [
        `d${index}`,
        {
          [keyword]: [{ $ref: `#/$defs/d${index + 1}` }, { $ref: `#/$defs/d${index + 1}` }]
        }
      ] as const
  )
  return {
    type: 'object',
    properties: { a: { $ref: '#/$defs/d0' } },
    $defs: { ...Object.fromEntries(entries), [`d${definitions}`]: { type: 'object' } }
  }
}

export const dimensions: readonly Dimension[] = [
  { name: 'length of a message', body: size => ({ messages: [user('a'.repeat(size))] }), from: 4096 },
  {
    name: 'length of a message of spaces',
    body: size => ({ messages: [user(' '.repeat(size))] }),
    from: 4096
  },
  {
    name: 'length of a message beyond ASCII',
    body: size => ({ messages: [user('ä€😀'.repeat(size))] }),
    from: 1024
  },
  {
    name: 'length of a system prompt',
    body: size => ({ messages: hi, system: 'a '.repeat(size) }),
    from: 4096
  },
  {
    name: 'length of a data URL',
    body: size => ({
      messages: [
        user([{ type: 'image_url', image_url: { url: `data:image/png;base64,${'A'.repeat(size)}` } }])
      ]
    }),
    from: 4096
  },
  {
    name: 'length of an address',
    body: size => ({
      messages: [user([{ type: 'image_url', image_url: { url: `https://a.example/${'a'.repeat(size)}` } }])]
    }),
    from: 1024
  },
  {
    name: 'length of the host of an address',
    body: size => ({
      messages: [user([{ type: 'image_url', image_url: { url: `https://${'ü'.repeat(size)}.example/` } }])]
    }),
    from: 1024
  },
  {
    name: 'length of the name of a tool',
    body: size => ({ messages: hi, tools: [tool('a'.repeat(size))] }),
    from: 1024
  },
  {
    name: 'length of the arguments of a call',
    body: size => ({
      messages: [
        ...hi,
        {
          role: 'assistant',
          tool_calls: [
            {
              id: 'call_0',
              type: 'function',
              function: { name: 'get', arguments: JSON.stringify({ a: 'a'.repeat(size) }) }
            }
          ]
        },
        result(0)
      ]
    }),
    from: 4096
  },
  {
    name: 'length of broken arguments of a call',
    body: size => ({
      messages: [
        ...hi,
        {
          role: 'assistant',
          tool_calls: [
            { id: 'call_0', type: 'function', function: { name: 'get', arguments: '{'.repeat(size) } }
          ]
        },
        result(0)
      ]
    }),
    from: 1024
  },
  { name: 'length of `user`', body: size => ({ messages: hi, user: 'a'.repeat(size) }), from: 512 },
  {
    name: 'length of `user` of spaces',
    body: size => ({ messages: hi, user: `+${' '.repeat(size)}` }),
    from: 512
  },
  {
    name: 'length of `user` of digits',
    body: size => ({ messages: hi, user: `${'1 '.repeat(size)}x` }),
    from: 512
  },
  {
    name: 'length of `safety_identifier`',
    body: size => ({ messages: hi, safety_identifier: 'a.'.repeat(size) }),
    from: 512
  },
  {
    name: 'messages of one user',
    body: size => ({ messages: list(size, index => user(`number ${index}`)) }),
    from: 512
  },
  {
    name: 'messages of a conversation',
    body: size => ({
      messages: list(size, index => (index % 2 === 0 ? user('hi') : { role: 'assistant', content: 'hi' }))
    }),
    from: 512
  },
  {
    name: 'system messages',
    body: size => ({
      messages: [...list(size, index => ({ role: 'system', content: `number ${index}` })), ...hi]
    }),
    from: 512
  },
  {
    name: 'system messages between others',
    body: size => ({
      messages: list(size, index => (index % 2 === 0 ? user('hi') : { role: 'developer', content: 'hi' }))
    }),
    from: 512
  },
  {
    name: 'calls of tools in one turn',
    body: size => ({
      messages: [...hi, { role: 'assistant', tool_calls: list(size, call) }, ...list(size, result)]
    }),
    from: 256
  },
  {
    name: 'calls of tools in turns of their own',
    body: size => ({
      messages: [
        ...hi,
        ...list(size, index => [{ role: 'assistant', tool_calls: [call(index)] }, result(index)]).flat()
      ]
    }),
    from: 256
  },
  {
    name: 'calls of tools whose results are in reverse',
    body: size => ({
      messages: [
        ...hi,
        { role: 'assistant', tool_calls: list(size, call) },
        ...list(size, result).toReversed()
      ]
    }),
    from: 256
  },
  {
    name: 'deprecated calls',
    body: size => ({
      messages: [
        ...hi,
        ...list(size, () => [
          { role: 'assistant', function_call: { name: 'get', arguments: '{}' } },
          { role: 'function', name: 'get', content: 'ok' }
        ]).flat()
      ]
    }),
    from: 256
  },
  {
    name: 'parts of a message',
    body: size => ({ messages: [user(list(size, index => text(`number ${index}`)))] }),
    from: 512
  },
  {
    name: 'parts of a result',
    body: size => ({
      messages: [
        ...hi,
        { role: 'assistant', tool_calls: [call(0)] },
        { role: 'tool', tool_call_id: 'call_0', content: list(size, () => text('ok')) }
      ]
    }),
    from: 512
  },
  {
    name: 'blocks of a system prompt',
    body: size => ({ messages: hi, system: list(size, () => text('a')) }),
    from: 512
  },
  {
    name: 'thinking blocks',
    body: size => ({
      messages: [
        ...hi,
        {
          role: 'assistant',
          content: 'a',
          thinking_blocks: list(size, () => ({ type: 'thinking', thinking: 'a', signature: 'b' }))
        },
        ...hi
      ]
    }),
    from: 256
  },
  {
    name: 'tools',
    body: size => ({ messages: hi, tools: list(size, index => tool(`get_${index}`)) }),
    from: 256
  },
  {
    name: 'allowed tools',
    body: size => ({
      messages: hi,
      tools: list(size, index => tool(`get_${index}`)),
      tool_choice: {
        type: 'allowed_tools',
        allowed_tools: {
          mode: 'auto',
          tools: list(size, index => ({ type: 'function', function: { name: `get_${size - index - 1}` } }))
        }
      }
    }),
    from: 256
  },
  {
    name: 'deprecated functions',
    body: size => ({
      messages: hi,
      functions: list(size, index => ({ name: `get_${index}`, parameters: { type: 'object' } }))
    }),
    from: 256
  },
  {
    name: 'properties of a schema',
    body: size =>
      withSchema({
        type: 'object',
        properties: Object.fromEntries(list(size, index => [`p${index}`, { type: 'string' }])),
        required: list(size, index => `p${index}`)
      }),
    from: 256
  },
  {
    name: 'required properties that do not exist',
    body: size =>
      withSchema({
        type: 'object',
        properties: Object.fromEntries(list(size, index => [`p${index}`, { type: 'string' }])),
        required: list(size, index => `none${index}`)
      }),
    from: 256
  },
  {
    name: 'branches of a schema',
    body: size =>
      withSchema({
        type: 'object',
        properties: { a: { anyOf: list(size, index => ({ type: 'string', const: `c${index}` })) } }
      }),
    from: 256
  },
  {
    name: 'branches at the root of a schema, of one property',
    body: size =>
      withSchema({
        type: 'object',
        anyOf: list(size, index => ({ properties: { a: { const: index } }, required: ['a'] }))
      }),
    from: 1024
  },
  {
    name: 'branches at the root of a schema, of a property each',
    body: size =>
      withSchema({
        type: 'object',
        oneOf: list(size, index => ({ properties: { [`p${index}`]: { type: 'string' } } }))
      }),
    from: 1024
  },
  {
    name: 'properties that two branches require',
    body: size =>
      withSchema({
        type: 'object',
        anyOf: [
          { required: list(size, index => `p${index}`) },
          { required: list(size, index => `p${size - index}`) }
        ]
      }),
    from: 1024
  },
  {
    name: 'values of an enumeration',
    body: size =>
      withSchema({
        type: 'object',
        properties: { a: { type: 'string', enum: list(size, index => `v${index}`) } }
      }),
    from: 256
  },
  { name: 'nesting of a schema', body: size => withSchema(nested(size)), from: 4, doublings: 3 },
  {
    name: 'definitions referred to once',
    body: size =>
      withSchema({
        type: 'object',
        properties: Object.fromEntries(list(size, index => [`p${index}`, { $ref: `#/$defs/d${index}` }])),
        $defs: Object.fromEntries(list(size, index => [`d${index}`, { type: 'string' }]))
      }),
    from: 256
  },
  {
    name: 'references to one definition',
    body: size =>
      withSchema({
        type: 'object',
        properties: Object.fromEntries(list(size, index => [`p${index}`, { $ref: '#/$defs/d' }])),
        $defs: { d: { type: 'object', properties: { a: { type: 'string' } } } }
      }),
    from: 256
  },
  ...['allOf', 'anyOf'].map(keyword => ({
    name: `definitions that refer to the next twice, by ${keyword}`,
    body: (size: number) => withSchema(doubling(size, keyword)),
    from: 4,
    doublings: 4
  })),
  {
    name: 'entries of `logit_bias`',
    body: size => ({
      messages: hi,
      logit_bias: Object.fromEntries(list(size, index => [String(index), 1]))
    }),
    from: 256
  },
  {
    name: 'fields that no schema names',
    body: size => ({ messages: hi, ...Object.fromEntries(list(size, index => [`x${index}`, index])) }),
    from: 256
  }
]
