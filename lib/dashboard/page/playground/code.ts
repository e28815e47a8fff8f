/** A request as code, in three languages. */

import { shellWord } from '../format/shell.ts'
import type { Choice } from '../parts/select.tsx'

export const languages: readonly Choice[] = [
  { value: 'curl', label: 'curl' },
  { value: 'python', label: 'Python' },
  { value: 'typescript', label: 'TypeScript' }
]

/** @param url the address of the gateway, without a trailing slash */
export function asCode (language: string, url: string, body: Readonly<Record<string, unknown>>): string {
  switch (language) {
    case 'python': return python(url, body)
    case 'typescript': return typescript(url, body)
    default: return curl(url, body)
  }
}

function curl (url: string, body: unknown): string {
  return `curl -N ${url}/v1/chat/completions \\
  -H "Authorization: Bearer $HEADGATE_API_KEY" \\
  -H "Content-Type: application/json" \\
  -d ${shellWord(JSON.stringify(body, null, 2))}`
}

/** Fields that OpenAI's libraries do not know: they are passed in the extra body. */
const ownFields = new Set([
  'mcp_servers',
  'thinking',
  'top_k',
  'agent_attributes',
  'model_attributes',
  'max_turns',
  'automatic_tool_execution',
  'generation_config',
  'safety_settings',
  'tool_config',
  'search_parameters',
  'safe_prompt',
  'prompt_mode',
  'stop_sequences',
  'cached_content'
])

function python (url: string, body: Readonly<Record<string, unknown>>): string {
  const known = Object.entries(body).filter(([name]) => !ownFields.has(name))
  const own = Object.entries(body).filter(([name]) => ownFields.has(name))
  const lines = [...known, ['stream', true] as const].map(
    ([name, value]) => `    ${name}=${pythonValue(value, 4)},`
  )
  return `import os
from openai import OpenAI

client = OpenAI(base_url="${url}/v1", api_key=os.environ["HEADGATE_API_KEY"])
stream = client.chat.completions.create(
${lines.join('\n')}${own.length === 0 ? '' : `\n    extra_body=${pythonValue(Object.fromEntries(own), 4)},`}
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="")`
}

/** Prints a JSON value in Python, which spells three of them differently. */
function pythonValue (value: unknown, indent: number): string {
  const inner = ' '.repeat(indent + 4)
  const end = ' '.repeat(indent)
  if (value === null) return 'None'
  if (value === true) return 'True'
  if (value === false) return 'False'
  if (Array.isArray(value)) {
    return value.length === 0
      ? '[]'
      : `[\n${value.map(item => `${inner}${pythonValue(item, indent + 4)},`).join('\n')}\n${end}]`
  }
  if (typeof value === 'object') {
    return `{\n${Object.entries(value)
      .map(([name, item]) => `${inner}${JSON.stringify(name)}: ${pythonValue(item, indent + 4)},`)
      .join('\n')}\n${end}}`
  }
  return JSON.stringify(value)
}

function typescript (url: string, body: Readonly<Record<string, unknown>>): string {
  const own = Object.keys(body).filter(name => ownFields.has(name))
  const text = JSON.stringify({ ...body, stream: true }, null, 2).replace(/^( +)"([A-Za-z_]\w*)":/gm, '$1$2:')
  return `import OpenAI from 'openai'

const client = new OpenAI({ baseURL: '${url}/v1', apiKey: process.env.HEADGATE_API_KEY })
const stream = await client.chat.completions.create(${text}${own.length === 0 ? '' : ' as OpenAI.ChatCompletionCreateParamsStreaming'})
for await (const chunk of stream) process.stdout.write(chunk.choices[0]?.delta.content ?? '')`
}
