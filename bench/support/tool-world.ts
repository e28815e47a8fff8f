/**
 * Runs the surroundings of a tool run: a model that calls the tool `look` and answers when it has the result,
 * and the tool server, both over HTTP; or only the tool server, over stdio.
 *
 * Run as `node tool-world.js <port>` or `node tool-world.js stdio`.
 */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { completeAnswer } from '../../lib/load/answers.ts'

interface Rpc { readonly id?: number | string, readonly method: string }

const toolCall = JSON.stringify({
  ...JSON.parse(completeAnswer),
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: null,
        refusal: null,
        tool_calls: [
          { id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"the harbour"}' } }
        ]
      },
      logprobs: null,
      finish_reason: 'tool_calls'
    }
  ]
})
const tool = {
  name: 'look',
  description: 'Looks at a place.',
  inputSchema: { type: 'object', properties: { at: { type: 'string' } } }
}
const result = { content: [{ type: 'text', text: 'Two ferries and a gull. '.repeat(20) }] }

if (process.argv[2] === 'stdio') {
  createInterface({ input: process.stdin }).on('line', line => {
    const said = answerTo(JSON.parse(line) as Rpc) // written by the client library
    if (said !== undefined) process.stdout.write(`${said}\n`)
  })
} else {
  createServer((request, response) => {
    handle(request, response).catch(() => response.destroy())
  }).listen(Number(process.argv[2]), '127.0.0.1')
}

async function handle (request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await text(request)
  if (request.url !== '/mcp') {
    const calls = body.includes('mock/tools') || body.includes('"model":"tools"')
    send(response, calls && !body.includes('"role":"tool"') ? toolCall : completeAnswer)
  } else if (request.method !== 'POST') {
    response.writeHead(request.method === 'DELETE' ? 204 : 405).end()
  } else {
    const said = answerTo(JSON.parse(body) as Rpc) // written by the client library
    if (said === undefined) response.writeHead(202).end()
    else send(response, said)
  }
}

function send (response: ServerResponse, json: string): void {
  response.writeHead(200, {
    'content-type': 'application/json', 'content-length': Buffer.byteLength(json), 'mcp-session-id': 'bench'
  }).end(json)
}

function answerTo ({ id, method }: Rpc): string | undefined {
  if (id === undefined) return undefined
  const results: Readonly<Record<string, unknown>> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'bench', version: '1' }
    },
    'tools/list': { tools: [tool] },
    'tools/call': result
  }
  return JSON.stringify({
    jsonrpc: '2.0',
    id,
    ...(method in results
      ? { result: results[method] }
      : { error: { code: -32601, message: 'Method not found' } })
  })
}
