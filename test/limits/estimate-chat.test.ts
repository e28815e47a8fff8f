import t from 'tap'
import { estimateChat, estimateText, measurePrompt, textTokens } from '../../lib/limits/estimate-chat.ts'
import { randomFrom } from '../support/limits.ts'
import type { ChatInput, TextInput } from '../../lib/chat/input.ts'
import type { Route } from '../../lib/core/route.ts'
import { noMedia } from '../../lib/limits/estimate.ts'

t.test('a request is estimated by its text, not by its images', async t => {
  const messages = [{ role: 'user' as const, content: 'x'.repeat(400) }]
  t.match(estimateChat({ model: 'm', messages }), {
    prompt: { typical: 101 },
    answer: { typical: 1000, limit: undefined, count: 1 }
  })
  t.match(estimateChat({ model: 'm', messages, max_completion_tokens: 7, n: 3 }), {
    prompt: { typical: 101 },
    answer: { typical: 21, limit: 7, count: 3 }
  })
  t.equal(
    estimateChat({ model: 'm', messages: [{ role: 'user', content: '漢字'.repeat(200) }] }).prompt.typical,
    401,
    'a character of Chinese is a token'
  )
  const picture = {
    role: 'user' as const,
    content: [{ type: 'image_url' as const, image_url: { url: `data:image/png;base64,${'A'.repeat(1e6)}` } }]
  }
  t.ok(estimateChat({ model: 'm', messages: [picture] }).prompt.typical < 1100)
})

function promptOf (request: object): number {
  return estimateChat({ model: 'm', messages: [], ...request }).prompt.typical
}

t.test('everything that a model may read is counted, wherever it is', async t => {
  const text = 'x'.repeat(40_000)
  const schema = { type: 'object', properties: { [text]: { type: 'string' } } }
  const enumerated = { type: 'object', properties: { a: { enum: [text] } } }
  for (const request of [
    { messages: [{ role: 'system', content: text }] },
    { messages: [{ role: 'user', content: [{ type: 'text', text }] }] },
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'a', data: text }] }] },
    {
      messages: [
        {
          role: 'assistant',
          tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: text } }]
        }
      ]
    },
    { tools: [{ type: 'function', function: { name: 'f', parameters: schema } }] },
    { tools: [{ type: 'function', function: { name: 'f', parameters: enumerated } }] },
    { functions: [{ name: 'f', description: text }] },
    { response_format: { type: 'json_schema', json_schema: { name: 'a', schema } } },
    { prediction: { type: 'content', content: text } },
    { field_of_tomorrow: { text } },
    {
      model: [
        {
          model: 'm',
          settings: { tools: [{ type: 'function', function: { name: 'f', description: text } }] }
        }
      ]
    },
    { asWritten: { system: [{ type: 'text', text }] } },
    {
      asWritten: {
        messages: [
          {
            role: 'user',
            content: [{ type: 'document', source: { type: 'text', media_type: 'text/plain', data: text } }]
          }
        ]
      }
    },
    { asWritten: { tools: [{ name: 'f', input_schema: schema }] } },
    {
      asWritten: {
        input: [{ type: 'additional_tools', tools: [{ type: 'function', name: 'f', parameters: schema }] }]
      }
    }
  ]) {
    t.ok(promptOf(request) >= 10_000, JSON.stringify(request).slice(0, 100))
  }
  t.ok(
    promptOf({
      tools: [
        {
          type: 'function',
          function: {
            name: 'f',
            parameters: { enum: Array.from({ length: 10_000 }, (_, number) => number) }
          }
        }
      ]
    }) >= 10_000
  )
})

t.test('text that no model reads is not counted, and media have no length', async t => {
  const text = 'x'.repeat(40_000)
  for (const request of [
    { user: text },
    { metadata: { a: text } },
    { stop: [text] },
    { callerNames: { a: text } },
    { asWritten: { metadata: { user_id: text } } }
  ]) {
    t.ok(promptOf(request) <= 3, JSON.stringify(request).slice(0, 20))
  }
  for (const part of [
    { type: 'image_url', image_url: { url: `data:image/png;base64,${text}` } },
    { type: 'input_audio', input_audio: { data: text, format: 'wav' } },
    { type: 'file', file: { file_data: `data:application/pdf;base64,${text}` } },
    { type: 'input_image', image_url: `data:image/png;base64,${text}` }
  ]) {
    t.ok(promptOf({ messages: [{ role: 'user', content: [part] }] }) < 1010, part.type)
  }
  for (const part of [
    { type: 'image_url', image_url: { url: 'https://a.example/a.png' } },
    { type: 'input_image', image_url: 'https://a.example/a.png' },
    { type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } },
    { type: 'input_file', file_url: 'https://a.example/a.pdf' },
    { type: 'file', file: { file_data: 'https://a.example/a.pdf' } },
    { type: 'file', file: { file_id: 'file-1' } },
    { type: 'image', source: { type: 'file', file_id: 'file_1' } }
  ]) {
    const prompt = promptOf({ messages: [{ role: 'user', content: [part] }] })
    t.ok(prompt >= 1000 && prompt < 1010, `${part.type} by reference: ${prompt}`)
  }
  const cited = {
    role: 'assistant',
    content: 'a',
    annotations: [{ type: 'url_citation', url_citation: { url: 'https://a.example/', title: 'a' } }]
  }
  t.ok(promptOf({ messages: [cited] }) < 50, 'a page that was cited is none')
  const called = {
    role: 'assistant',
    content: [{ type: 'tool_use', id: 'a', name: 'f', input: { file_id: 'a', [text]: 1 } }]
  }
  const prompt = estimateChat({ model: 'm', messages: [], asWritten: { messages: [called] } }).prompt.typical
  t.ok(
    prompt > 10_000 && prompt < 10_050,
    `nor is what a tool was called with, which counts with its names: ${prompt}`
  )
  t.ok(
    promptOf({
      messages: [
        { role: 'user', content: [{ type: 'file', file: { file_data: `data:text/plain;base64,${text}` } }] }
      ]
    }) > 10_000,
    'a text in base64 is one'
  )
  t.ok(
    promptOf({
      messages: [
        { role: 'user', content: [{ type: 'image_url', image_url: { url: text.replaceAll('x', 'x y') } }] }
      ]
    }) > 10_000
  )
})

const messages: ChatInput['messages'] = [{ role: 'user', content: 'x'.repeat(400) }]

t.test('the maximum for a prompt is twice the estimate plus a frame per message', async t => {
  t.equal(estimateChat({ model: 'm', messages }).prompt.max, 2 * 101 + 8 * 2)
})

t.test('the bytes of a prompt, and so its tokens, are at most twice the estimate', async t => {
  for (const [first, last] of [[0x20, 0x7e], [0xa0, 0x7ff], [0x800, 0xffff], [0x10000, 0x10ffff]] as const) {
    const random = randomFrom(first)
    const points = Array.from({ length: 5000 }, () => first + random(last - first + 1))
    const content = String.fromCodePoint(...points)
    const { prompt: { max } } = estimateChat({ model: 'm', messages: [{ role: 'user', content }] })
    t.ok(Buffer.byteLength(content) <= 2 * max, `${first.toString(16)}: ${max}`)
  }
})

t.test('a loop may produce one answer per turn', async t => {
  const servers = { mcp_servers: ['s'] } as Partial<ChatInput>
  t.equal(estimateChat({ model: 'm', messages, ...servers }).answer.count, 10)
  t.equal(estimateChat({ model: 'm', messages, ...servers, max_turns: 3 }).answer.count, 3)
  t.equal(estimateChat({ model: 'm', messages, ...servers, automatic_tool_execution: false }).answer.count, 1)
})

t.test('an answer shorter than its thinking is useless', async t => {
  t.equal(
    estimateChat({ model: 'm', messages, thinking: { type: 'enabled', budget_tokens: 1024 } }).answer.min,
    1040
  )
  t.equal(estimateChat({ model: 'm', messages, max_tokens: 5 }).answer.min, 5)
})

t.test('a cache mark is found wherever it is', async t => {
  const text = { type: 'text' as const, text: 'a', cache_control: { type: 'ephemeral' } }
  const marked: ChatInput['messages'] = [{ role: 'user', content: [text] }]
  t.equal(estimateChat({ model: 'm', messages: marked }).prompt.writesCache, true)
  t.equal(estimateChat({ model: 'm', messages }).prompt.writesCache, false)
})

t.test('a route that marks prompts may write to the cache', async t => {
  const plain = { providerId: 'one', model: 'm', modelId: 'one/m' }
  const routes = [plain, { ...plain, minMarkedTokens: 1024 }]
  const estimate = estimateChat({ model: 'm', messages }, [plain])
  t.strictSame(estimateChat({ model: 'm', messages }, routes), {
    ...estimate,
    prompt: { ...estimate.prompt, writesCache: true }
  })
})

t.test(
  'as many web searches are counted as the Messages or Responses request allows',
  async t => {
    const search = (maxUses?: unknown) => ({
      type: 'web_search_20250305',
      name: 'web_search',
      ...maxUses !== undefined && { max_uses: maxUses }
    })
    const searches = (...tools: unknown[]): unknown =>
      estimateChat({ model: 'm', messages, asWritten: { tools } }).answer.searches
    t.equal(searches(search(5), { ...search(2), type: 'web_search_20260209' }), 7)
    t.equal(
      searches(
        search(),
        search(-1),
        search('9'),
        null,
        { name: 'web_search', max_uses: 3 },
        { type: 'custom', name: 'a', max_uses: 3 }
      ),
      0
    )
    t.equal(estimateChat({ model: 'm', messages, asWritten: { tools: {} } }).answer.searches, 0)
    const response = (type: string) => {
      const asWritten = { tools: [{ type }], max_tool_calls: 4 }
      return estimateChat({ model: 'm', messages, asWritten }).answer.searches
    }
    t.same(['web_search', 'web_search_preview', 'function'].map(response), [4, 4, 0])
    t.equal(estimateChat({ model: 'm', messages }).answer.searches, 0)
  }
)

const routeWith = (settings?: Route['settings']): Route => ({
  providerId: 'one',
  model: 'm',
  modelId: 'one/m',
  ...settings && { settings }
})

t.test('settings count as part of the request, which takes precedence', async t => {
  const of = (request: Partial<ChatInput>, ...settings: ReadonlyArray<Route['settings']>) =>
    estimateChat({ model: 'm', messages, ...request }, settings.map(routeWith))
  t.strictSame(of({ max_tokens: 7 }, undefined), estimateChat({ model: 'm', messages, max_tokens: 7 }))
  t.match(of({}, { max_completion_tokens: 7, n: 3, thinking: { type: 'enabled', budget_tokens: 1024 } }), {
    answer: { typical: 21, limit: 7, count: 3, choices: 3, min: 7 }
  })
  t.match(of({ max_tokens: 5 }, { max_completion_tokens: 7 }), { answer: { typical: 5, limit: 5 } })
  t.match(of({}, { service_tier: 'priority' }), { unpriced: 'service_tier' })
  t.match(of({ service_tier: 'default' }, { service_tier: 'priority' }), { unpriced: undefined })
})

t.test('among several routes the highest amount counts', async t => {
  const of = (...settings: ReadonlyArray<Route['settings']>) =>
    estimateChat({ model: 'm', messages }, settings.map(routeWith))
  t.match(of({ max_tokens: 7, n: 2 }, { max_tokens: 9 }, { max_tokens: 8, service_tier: 'priority' }), {
    answer: { typical: 14, limit: 9, count: 2, choices: 2 },
    unpriced: 'service_tier'
  })
  t.match(
    of({ max_tokens: 7 }, undefined),
    { answer: { typical: 1000, limit: undefined } },
    'one of them is not bounded'
  )
})

t.test('tools in settings are read once, set by a caller or a route, in any dialect', async t => {
  const tools = [{ type: 'function' as const, function: { name: 'f', description: 'x'.repeat(40_000) } }]
  const prompt = estimateChat({ model: 'm', messages, tools }).prompt.typical
  const model = { model: 'm', settings: { tools } }
  t.equal(estimateChat({ model: 'm', messages }, [routeWith({ tools })]).prompt.typical, prompt)
  t.equal(estimateChat({ model, messages }, [routeWith({ tools })]).prompt.typical, prompt)
  const asWritten = { messages, max_tokens: 5 }
  const written = estimateChat({ model: 'm', messages, asWritten }, [routeWith({ tools })]).prompt.typical
  t.ok(written >= prompt && written < prompt + 10, `${written}`)
})

t.test('a generation config may only raise the estimate, since a provider may ignore it', async t => {
  const of = (request: Partial<ChatInput>) => estimateChat({ model: 'm', messages, ...request })
  t.match(of({ max_tokens: 16, generation_config: { maxOutputTokens: 20_000, candidate_count: 8 } }), {
    answer: { typical: 160_000, limit: 20_000, choices: 8, count: 8 }
  })
  t.match(of({ max_tokens: 500, generation_config: { maxOutputTokens: 16 } }), {
    answer: { typical: 500, limit: 500 }
  })
  t.match(of({ generation_config: { maxOutputTokens: 16 } }), { answer: { typical: 1000, limit: undefined } })
  t.match(of({ max_tokens: 16, generation_config: { maxOutputTokens: 0 } }), {
    answer: { typical: 16, limit: undefined }
  })
})

t.test('text after a gap is read', async t => {
  const request: TextInput = { model: 'm', messages, text: { prompt: 'x', suffix: 'x'.repeat(400) } }
  t.equal(estimateText(request, [routeWith({ max_tokens: 7 })]).answer.limit, 7)
  t.ok(estimateText(request).prompt.typical >= 200)
})

t.test('the text of a request is read once, however many settings its routes have', async t => {
  let reads = 0
  const content = {
    get text () {
      reads++
      return 'word '.repeat(100)
    },
    type: 'text'
  } as const
  const request = {
    model: 'm',
    messages: [{ role: 'user', content: [content] }]
  } as const satisfies Partial<ChatInput>
  const prompt = estimateChat(request).prompt.typical
  const once = reads
  const many = Array.from({ length: 16 }, (_, seed) =>
    routeWith({
      seed,
      tools: seed === 7 ? [{ type: 'function', function: { name: 'f', description: 'x'.repeat(400) } }] : []
    })
  )
  reads = 0
  t.ok(estimateChat(request, many).prompt.typical > prompt + 100)
  t.equal(reads, once)
})

t.test('four letters are a token, or one character of Chinese', async t => {
  t.same(['', 'abcd', '漢字', 'ab漢'].map(textTokens), [0, 1, 2, 1.5])
})

t.test(
  'media are found in messages of each dialect, inline and by reference, and text is not media',
  async t => {
    const base64 = 'A'.repeat(8)
    const mediaIn = (content: unknown): unknown => (
      measurePrompt({ messages: [{ role: 'user', content }] }).media
    )
    for (const [medium, parts] of Object.entries({
      images: [
        { type: 'image_url', image_url: { url: `data:image/png;base64,${base64}` } },
        { type: 'image_url', image_url: { url: 'https://a.example/a' } },
        { type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } },
        { type: 'image', source: { type: 'url', url: 'https://a.example/a' } },
        { type: 'input_image', image_url: 'https://a.example/a' },
        { type: 'input_image', file_id: 'file-1' },
        {
          type: 'tool_result',
          tool_use_id: 'a',
          content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: base64 } }]
        }
      ],
      recordings: [{ type: 'input_audio', input_audio: { data: base64, format: 'wav' } }],
      others: [
        { type: 'file', file: { filename: 'a.pdf', file_data: `data:application/pdf;base64,${base64}` } },
        { type: 'file', file: { file_id: 'file-1' } },
        { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data: base64 } },
        { type: 'document', source: { type: 'file', file_id: 'f' } },
        { type: 'document', source: { type: 'url', url: 'https://a.example/a.pdf' } },
        { type: 'video_url', video_url: { url: 'https://a.example/a.mp4' } },
        { type: 'input_file', file_data: base64 },
        { type: 'input_file', file_url: 'https://a.example/a.pdf' },
        { type: 'part_of_tomorrow', data: 'A'.repeat(5000) }
      ]
    })) {
      for (const part of parts) {
        t.strictSame(mediaIn([part]), { ...noMedia, [medium]: 1 }, JSON.stringify(part).slice(0, 100))
      }
      t.strictSame(mediaIn(parts), { ...noMedia, [medium]: parts.length })
    }
    t.strictSame(
      mediaIn([
        { type: 'text', text: 'https://a.example/a.pdf' },
        { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'x'.repeat(5000) } },
        { type: 'file', file: { filename: 'a.txt', file_data: `data:text/plain;base64,${base64}` } },
        { type: 'tool_use', id: 'a', name: 'f', input: { file_id: 'a' } }
      ]),
      noMedia
    )
    t.strictSame(mediaIn('x'), noMedia)
  }
)
