/**
 * Starts the gateway as `npm start` does, for clients that are separate programs: with the sandbox, and with
 * OpenAI, Anthropic and Gemini as played by a third-party mock. Models have the names that LiteLLM programs
 * use, with the key `sk-1234`. Prints its address and a key, and exits when standard input ends.
 */

import { LLMock } from '@copilotkit/aimock'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

interface SentRequest { readonly messages: ReadonlyArray<{ readonly role: string }> }

const results = ({ messages }: SentRequest): number => messages.filter(({ role }) => role === 'tool').length

const mock = new LLMock({ port: 0 })
const thought = { reasoning: 'I should look that up.', reasoningSignature: 'c2lnbmVkLWJ5LXRoZS1tb2RlbA==' }
mock.on(
  { userMessage: 'weather', predicate: request => results(request) === 0 },
  {
    ...thought,
    toolCalls: ['get_weather', 'get_time'].map(name => ({ name, arguments: '{"city":"Paris"}' }))
  }
)
mock.on(
  { userMessage: 'weather', predicate: request => results(request) === 2 },
  { ...thought, toolCalls: [{ name: 'get_weather', arguments: '{"city":"Rome"}' }] }
)
mock.on(
  { userMessage: 'weather', predicate: request => results(request) > 2 },
  { content: 'Paris is sunny at noon; Rome is cloudy.' }
)
mock.onMessage('as json', { content: '{"name":"Ada","age":36}' })
mock.onMessage('limit me', {
  error: { message: 'slow down', type: 'rate_limit_error', code: 'rate_limit_exceeded' },
  status: 429
})
mock.onMessage('hello', {
  content: 'Hi there, and welcome to the gateway.',
  usage: {
    prompt_tokens: 3,
    completion_tokens: 9,
    total_tokens: 12,
    input_tokens: 3,
    output_tokens: 9,
    promptTokenCount: 3,
    candidatesTokenCount: 9,
    totalTokenCount: 12
  }
})
await mock.start()

const folder = mkdtempSync(join(tmpdir(), 'headgate-clients-'))
writeFileSync(join(folder, 'headgate.yaml'), JSON.stringify({
  providers: {
    sandbox: { options: { words_per_second: 0 } },
    openai: { api_key: 'env:FAKE_KEY', base_url: `${mock.url}/v1` },
    anthropic: { api_key: 'env:FAKE_KEY', base_url: mock.url },
    google: { api_key: 'env:FAKE_KEY', base_url: mock.url }
  },
  models: {
    'gpt-3.5-turbo': { alias: 'openai/gpt-4o' },
    'claude-sonnet': { alias: 'anthropic/claude-sonnet-4-5' },
    echo: { alias: 'sandbox/echo' },
    'gpt-3.5-turbo-instruct': { alias: 'sandbox/echo' },
    'text-embedding-ada-002': { alias: 'sandbox/embedding' },
    'dall-e-3': { alias: 'sandbox/painter' },
    'tts-1': { alias: 'sandbox/speaker' },
    'whisper-1': { alias: 'sandbox/listener' }
  },
  server: { litellm_headers: true },
  keys: [{ name: 'clients', key: 'env:CLIENTS_KEY' }, { name: 'moved from LiteLLM', key: 'env:LITELLM_KEY' }]
}))
const key = `hg_${randomBytes(32).toString('base64url')}`
const gateway = spawn(process.execPath, [join(import.meta.dirname, '../../headgate.cjs'), 'start'], {
  cwd: folder,
  env: { PATH: process.env['PATH'], PORT: '0', FAKE_KEY: 'fake', CLIENTS_KEY: key, LITELLM_KEY: 'sk-1234' },
  stdio: ['ignore', 'inherit', 'pipe']
})
const ended = once(gateway, 'exit')
createInterface(gateway.stderr).on('line', line => {
  const url = /^Headgate listens on (\S+)$/.exec(line)?.[1]
  if (url !== undefined) process.stdout.write(`${url} ${key}\n`)
})
process.stdin.on('end', () => gateway.kill('SIGTERM')).resume()
const [code] = await ended as unknown[]
await mock.stop()
rmSync(folder, { recursive: true })
process.exit(code === 0 ? 0 : 1)
