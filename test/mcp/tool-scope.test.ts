/**
 * A key's scope of tool servers is checked on the entry as the caller wrote it, before any server is
 * connected.
 */

import t from 'tap'
import { GatewayError } from '../../lib/core/errors.ts'
import { checkToolScope, type ToolScope } from '../../lib/mcp/tool-scope.ts'
import { testGateway } from '../support/gateway.ts'
import { providerSettings, settings } from '../support/settings.ts'
import { startToolServer } from '../support/tool-server.ts'
import type { ToolServerSettings } from '../../lib/core/settings.ts'

type Servers = Parameters<typeof checkToolScope>[0]['request']['mcp_servers']

const url = 'https://mcp.example.com/mcp?token=secret'

const all: Omit<ToolScope, 'id'> = {}
const one = { mcpServers: ['acme/tickets'] }
const none = { mcpServers: [] }
const every = { mcpServers: ['*'] }

const cases: ReadonlyArray<
  readonly [what: string, scope: Omit<ToolScope, 'id'>, servers: Servers, refused?: RegExp]
> = [
  ['a key without scope, a slug', all, 'acme/tickets'],
  ['a key without scope, a URL', all, url],
  [
    'a key without scope that may not name URLs',
    { mcpUrls: false },
    url,
    /by URL \(`https:\/\/mcp.example.com\/mcp`\)/
  ],
  ['a key without scope that may not name URLs, a slug', { mcpUrls: false }, 'acme/tickets'],
  ['all by a star, a slug', every, 'any/thing'],
  ['all by a star, a URL', every, url],
  ['one server, its slug', one, 'acme/tickets'],
  ['one server, its slug with a version', one, 'acme/tickets@1.2'],
  ['one server, its slug in an object', one, { slug: 'acme/tickets', name: 'mine' }],
  ['one server, another slug', one, 'acme/files', /`acme\/files`/],
  ['one server, another slug with a version', one, 'acme/files@1', /`acme\/files`/],
  [
    'one server, another slug under the allowed name',
    one,
    { slug: 'acme/files', name: 'acme/tickets' },
    /`acme\/files`/
  ],
  ['one server, a URL', one, url, /by URL/],
  ['one server, a URL under the allowed name', one, { url, name: 'acme/tickets' }, /by URL/],
  ['one server and URLs, a URL', { ...one, mcpUrls: true }, { url }],
  ['one server and URLs, another slug', { ...one, mcpUrls: true }, 'acme/files', /`acme\/files`/],
  [
    'one server, the full name of one in a registry',
    one,
    'io.github.acme/tickets',
    /`io.github.acme\/tickets`/
  ],
  ['one server, a list with another', one, ['acme/tickets', 'acme/files'], /`acme\/files`/],
  ['none, a slug', none, 'acme/tickets', /`acme\/tickets`/],
  ['none, a URL', none, url, /by URL/],
  ['none, an empty list', none, []],
  ['none, no servers', none, undefined],
  ['none, what is no slug', none, 'tickets', /`tickets`/]
]

t.test('a key may use the servers in its scope, and URLs only where URLs are allowed', async t => {
  for (const [what, scope, servers, refused] of cases) {
    const check = (): unknown =>
      checkToolScope({
        key: { id: 'key', ...scope },
        request: servers === undefined ? {} : { mcp_servers: servers }
      })
    if (refused === undefined) t.doesNotThrow(check, what)
    else
      t.throws(
        check,
        {
          constructor: GatewayError,
          code: 'insufficient_permissions',
          param: 'mcp_servers',
          message: refused
        },
        what
      )
  }
})

t.test(
  'a call that names another tool server is refused before any server or provider is called',
  async t => {
    const server = await startToolServer(t)
    const configured: ToolServerSettings = {
      slug: 'acme/files',
      url: server.url,
      headers: {},
      args: [],
      env: {},
      shared: false
    }
    const api = await testGateway(
      t,
      {
        providers: [providerSettings('sandbox', 'sandbox')],
        toolServers: [configured],
        tools: { ...settings().tools, connectMs: 20_000 }
      },
      {
        limited: { id: 'key-2', name: 'limited', mcpServers: ['acme/tickets'] },
        files: { id: 'key-3', name: 'files', mcpServers: ['acme/files'] }
      }
    )
    const ask = async (key: string, body: object, headers: Record<string, string> = {}): Promise<Response> =>
      await api.post(
        '/v1/chat/completions',
        { model: 'sandbox/echo', messages: 'x', ...body },
        { headers: { authorization: `Bearer ${key}`, ...headers } }
      )
    const attempts: ReadonlyArray<readonly [how: string, body: object, headers?: Record<string, string>]> = [
      ['at once', {}],
      ['streamed', { stream: true }],
      ['deferred', { deferred: true }],
      ['in a dry run', {}, { 'x-headgate-dry-run': 'true' }],
      ['without running tools', { automatic_tool_execution: false }],
      ['with no tool to be chosen', { tool_choice: 'none' }]
    ]
    for (const mcp_servers of ['acme/files', server.url]) {
      for (const [how, body, headers] of attempts) {
        const answer = await ask('limited', { mcp_servers, ...body }, headers)
        t.equal(answer.status, 403, `${mcp_servers === server.url ? 'a URL' : mcp_servers} ${how}`)
        t.match(await answer.json(), { error: { code: 'insufficient_permissions', param: 'mcp_servers' } })
      }
    }
    t.strictSame(server.counts, {})
    t.equal((await ask('files', { mcp_servers: 'acme/files' })).status, 200)
    t.equal(server.counts['tools/list'], 1)
  }
)
