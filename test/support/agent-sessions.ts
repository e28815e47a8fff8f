/**
 * Requests as coding agents send them: with cache marks, signatures, encrypted reasoning and unknown blocks.
 */

/**
 * Returns a later turn of Claude Code.
 * @param here a word in the text of its user and its tools
 */
export function claudeCodeTurn (model: string, here: string): object {
  const mark = { cache_control: { type: 'ephemeral', ttl: '1h' } }
  return {
    model,
    max_tokens: 32_000,
    stream: true,
    system: [
      { type: 'text', text: 'x-anthropic-billing-header: cc_version=2.0.1; cc_entrypoint=cli; cch=00000;' },
      { type: 'text', text: 'You are a coding agent.', ...mark }
    ],
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: '<system-reminder>\nToday is a fine day.\n</system-reminder>' },
          { type: 'text', text: `Rename it to ${here}, please.`, ...mark }
        ]
      },
      {
        role: 'assistant',
        content: [
          {
            type: 'thinking',
            thinking: 'I should look at the file first.',
            signature: 'EqQBCkgIBRABGAIiQL8+/3s9Kx=='
          },
          { type: 'redacted_thinking', data: 'EmwKAhgBEgy3va3pzix/LafPsn4a' },
          {
            type: 'tool_use',
            id: 'toolu_01A',
            name: 'Read',
            input: { file_path: '/src/island.ts', limit: 20, offset: 1.0 }
          },
          { type: 'server_tool_use', id: 'srvtoolu_01B', name: 'web_search', input: { query: 'islands' } },
          {
            type: 'web_search_tool_result',
            tool_use_id: 'srvtoolu_01B',
            content: [
              {
                type: 'web_search_result',
                url: 'https://islands.example',
                title: 'Islands',
                encrypted_content: 'EqgfCioIARgBIiQ3YTAwMjY1Mi1m',
                page_age: null
              }
            ]
          },
          { type: 'block_of_the_future', payload: { nested: [true, 1e3, { 'key "quoted"': '\u2028' }] } }
        ]
      },
      {
        role: 'user',
        content: [
          {
            type: 'tool_result',
            tool_use_id: 'toolu_01A',
            is_error: false,
            content: [{ type: 'text', text: `export const island = '${here}'\n` }],
            ...mark
          }
        ]
      }
    ],
    tools: [
      {
        name: 'Read',
        description: 'Reads a file.',
        input_schema: {
          $schema: 'http://json-schema.org/draft-07/schema#',
          type: 'object',
          properties: { file_path: { type: 'string' } },
          required: ['file_path'],
          additionalProperties: false
        }
      },
      { type: 'web_search_20250305', name: 'web_search', max_uses: 8, ...mark }
    ],
    thinking: { type: 'enabled', budget_tokens: 31_999 },
    context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    metadata: { user_id: 'user_4f2a_account__session_6d1c' }
  }
}

/** Returns a later turn of Codex. @param here as above */
export function codexTurn (model: string, here: string): object {
  return {
    model,
    instructions: 'You are a coding agent.',
    input: [
      {
        type: 'message',
        role: 'developer',
        content: [{ type: 'input_text', text: '<permissions>read only</permissions>' }]
      },
      {
        type: 'message',
        role: 'user',
        content: [{ type: 'input_text', text: `Rename it to ${here}, please.` }]
      },
      {
        type: 'reasoning',
        summary: [{ type: 'summary_text', text: '**Looking at the file**' }],
        content: null,
        encrypted_content: 'gAAAAABpJ0m8uXw-3S9Kx_zzT1=='
      },
      {
        type: 'function_call',
        name: 'shell_command',
        arguments: '{"command":"cat island.ts","workdir":"/src"}',
        call_id: 'call_7Qe'
      },
      {
        type: 'function_call_output',
        call_id: 'call_7Qe',
        output: `Exit code: 0\nOutput:\nexport const island = '${here}'\n`
      },
      {
        type: 'custom_tool_call',
        status: 'completed',
        call_id: 'call_8Rf',
        name: 'apply_patch',
        input: '*** Begin Patch\n*** End Patch'
      },
      {
        type: 'custom_tool_call_output',
        call_id: 'call_8Rf',
        output: '{"output":"Success","metadata":{"exit_code":0}}'
      },
      { type: 'item_of_the_future', payload: { nested: [true, 1e3, { 'key "quoted"': '\u2028' }] } }
    ],
    tools: [
      {
        type: 'function',
        name: 'shell_command',
        description: 'Runs a command.',
        strict: false,
        parameters: {
          type: 'object',
          properties: { command: { type: 'string' } },
          required: ['command'],
          additionalProperties: false
        }
      },
      {
        type: 'custom',
        name: 'apply_patch',
        description: 'Edits files.',
        format: { type: 'grammar', syntax: 'lark', definition: 'start: begin_patch hunk+ end_patch' }
      },
      { type: 'web_search', external_web_access: false }
    ],
    tool_choice: 'auto',
    parallel_tool_calls: true,
    reasoning: { effort: 'medium', summary: 'auto' },
    store: false,
    stream: true,
    include: ['reasoning.encrypted_content'],
    prompt_cache_key: '019ab1c2-77aa-7be0-9d5f-0f5a6a3c1b2d',
    text: { verbosity: 'low' },
    client_metadata: { 'x-codex-installation-id': '5f0c' }
  }
}
