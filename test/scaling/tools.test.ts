/** Tool results and tool lists are read in time linear in their size. */

import t from 'tap'
import { scalesWith } from '../support/scaling.ts'
import { nameTools, type NamedTool } from '../../lib/chat/tool-names.ts'
import { readResult } from '../../lib/mcp/tool-result.ts'
import type { CallToolResult } from '../../lib/mcp/session.ts'

const list = <T>(size: number, item: (index: number) => T): T[] =>
  Array.from({ length: size }, (_, index) => item(index))

t.test('tool results become messages in linear time', async t => {
  const text = (value: string): CallToolResult['content'][number] => ({ type: 'text', text: value })
  const results: Readonly<Record<string, (size: number) => CallToolResult>> = {
    'texts': size => ({ content: list(size, () => text('a')) }),
    'texts beside structured content': size => ({
      content: list(size, () => text('1')),
      structuredContent: { x: 'y'.repeat(size * 16) }
    }),
    'a long text': size => ({ content: [text('ä'.repeat(size * 16))] }),
    'a text of open brackets': size => ({ content: [text('['.repeat(size))], structuredContent: {} }),
    'images': size => ({
      content: list(size, () => ({ type: 'image', data: 'iVBORw0KGgoAAAAN', mimeType: 'image/png' }))
    }),
    'base64 that ends in many signs': size => ({
      content: [{ type: 'audio', data: '='.repeat(size * 16), mimeType: 'audio/wav' }]
    }),
    'structured content of many members': size => ({
      content: [],
      structuredContent: Object.fromEntries(list(size, index => [`k${index}`, index]))
    })
  }
  for (const [name, input] of Object.entries(results)) {
    scalesWith(t, name, { from: 512, input, run: result => readResult(result, 100_000, true) })
  }
})

t.test('tools of several servers are named in linear time', async t => {
  const tools: Readonly<Record<string, (index: number) => Omit<NamedTool<number>, 'value'>>> = {
    'different names': index => ({ server: 'a/b', tool: `get_${index}` }),
    'one name at many servers': index => ({ server: `a/b${index}`, tool: 'get' }),
    'one name at one server': () => ({ server: 'a/b', tool: 'get' }),
    'names that are too long': index => ({ server: 'a/b', tool: `${'x'.repeat(100)}${index}` })
  }
  for (const [name, tool] of Object.entries(tools)) {
    scalesWith(t, name, {
      from: 64,
      input: size => list(size, index => ({ ...tool(index), value: index })),
      run: all => nameTools(all, new Set())
    })
  }
})
