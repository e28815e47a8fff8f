/**
 * Commands that make a first call with a key. The name of the model may come from a provider, and people
 * paste these into a shell: it is quoted as each language requires.
 */

import { shellWord } from '../format/shell.ts'

export interface Example { readonly id: string, readonly label: string, readonly text: string }

/** @param url the address of the gateway, without a trailing slash */
export function examples (url: string, key: string, model: string): readonly Example[] {
  const quoted = JSON.stringify(model) // a string in Python, TypeScript and TOML too
  return [
    {
      id: 'curl',
      label: 'curl',
      text: `curl ${url}/v1/chat/completions \\
  -H "Authorization: Bearer ${key}" \\
  -H "Content-Type: application/json" \\
  -d ${shellWord(`{"model": ${quoted}, "messages": [{"role": "user", "content": "Hello"}]}`)}`
    },
    {
      id: 'python',
      label: 'Python',
      text: pythonLines('from openai import OpenAI', 'OpenAI', `${url}/v1`, key, quoted)
    },
    {
      id: 'typescript',
      label: 'TypeScript',
      text: `import OpenAI from 'openai'

const client = new OpenAI({
  baseURL: '${url}/v1',
  apiKey: '${key}'
})
const completion = await client.chat.completions.create({
  model: ${quoted},
  messages: [{ role: 'user', content: 'Hello' }]
})
console.log(completion.choices[0]?.message.content)`
    },
    {
      id: 'dedalus',
      label: 'dedalus_labs',
      text: pythonLines('from dedalus_labs import Dedalus', 'Dedalus', url, key, quoted)
    },
    {
      id: 'claude-code',
      label: 'Claude Code',
      text: `export ANTHROPIC_BASE_URL=${url}
export ANTHROPIC_AUTH_TOKEN=${key}
export ANTHROPIC_MODEL=${shellWord(model)}
claude`
    },
    {
      id: 'codex',
      label: 'Codex',
      text: `# ~/.codex/config.toml
model = ${quoted}
model_provider = "headgate"

[model_providers.headgate]
name = "Headgate"
base_url = "${url}/v1"
env_key = "HEADGATE_API_KEY"
wire_api = "responses"

# in the shell
export HEADGATE_API_KEY=${key}
codex`
    }
  ]
}

/** Returns a first call in Python: the clients have different names and base addresses. */
function pythonLines (imports: string, client: string, baseUrl: string, key: string, model: string): string {
  return `${imports}

client = ${client}(
    base_url="${baseUrl}",
    api_key="${key}",
)
completion = client.chat.completions.create(
    model=${model},
    messages=[{"role": "user", "content": "Hello"}],
)
print(completion.choices[0].message.content)`
}
