/** Where requests and answers of this dialect hold text. */

import {
  PlaceTable,
  address,
  fixed,
  freeText,
  jsonSchema,
  kindWords,
  mayBePacked,
  media,
  pieceOf,
  signedPart,
  text,
  toolArguments,
  toolCall,
  toolResult,
  anyWord,
  unlistedPiece,
  unseen,
  type Places,
  type TextPlace
} from '../../json/place-table.ts'
import { objectOf, textOfValue } from '../../json/type-guards.ts'
import type { DirectTexts } from '../dialect.ts'

const id = unseen('pairs a call with its result')
const name = unseen('the name of a tool, by which its calls are found')

/** Fields anywhere in a request or an answer that guards must not change. */
const marks: Places = {
  ...kindWords,
  '**.cache_control.**': unseen('marks the end of what is cached'),
  '**.signature': mayBePacked(unseen('belongs to the thinking that it signs'), {
    ...kindWords,
    reasoning_content: text,
    ...signedPart('reasoning_details[]'),
    'extra_content.**': unseen('belongs to the call, such as a signature')
  }),
  '**.encrypted_content': unseen('only the provider can read it'),
  '**.encrypted_index': unseen('only the provider can read it'),
  '**.encrypted_stdout': unseen('only the provider can read it'),
  '**.file_id': unseen('the id of a file at the provider'),
  '**.media_type': unseen('names the kind of a file')
}

/** Returns the places in a list of blocks, including their tool results. */
function messageBlocks (path: string): Places {
  return {
    ...blocks(path, text),
    ...blocks(`${path}[](tool_result|mcp_tool_result).content`, toolResult),
    ...providerResult(`${path}[](${providerResults}).content`)
  }
}

/**
 * Results of Anthropic's server tools.
 *
 * @see https://platform.claude.com/docs/en/api/messages
 */
const providerResults = [
  'web_search_tool_result',
  'web_fetch_tool_result',
  'code_execution_tool_result',
  'bash_code_execution_tool_result',
  'text_editor_code_execution_tool_result',
  'tool_search_tool_result',
  'advisor_tool_result'
].join('|')

/** One such result, or a list: all of it is text except the fields listed. */
function providerResult (path: string): Places {
  return {
    [`${path}.**`]: toolResult,
    [`${path}.error_code`]: anyWord,
    [`${path}.file_type`]: anyWord,
    [`${path}.tool_references[].tool_name`]: name,
    [`${path}.url`]: { ...toolResult, base64: 'in_url' },
    [`${path}[].url`]: { ...toolResult, base64: 'in_url' },
    [`${path}.content.source.data`]: media,
    [`${path}.content.source(text).data`]: toolResult
  }
}

function blocks (path: string, said: TextPlace): Places {
  return {
    [path]: said,
    [`${path}[].text`]: said,
    [`${path}[](image|document).source.data`]: media,
    [`${path}[](image|document).source.url`]: address,
    [`${path}[](document).source(text).data`]: said,
    [`${path}[](document).source.content`]: said,
    [`${path}[](document).source.content[].text`]: said,
    [`${path}[](document).source.content[].source.data`]: media,
    [`${path}[](document).source.content[].source.url`]: address,
    [`${path}[](document).title`]: said,
    [`${path}[](document).context`]: said,
    [`${path}[](search_result).source`]: said,
    [`${path}[](search_result).title`]: said,
    [`${path}[](search_result).content[].text`]: said,
    [`${path}[](tool_reference).tool_name`]: name,
    [`${path}[](thinking).thinking`]: fixed,
    [`${path}[](redacted_thinking).data`]: unseen('only the provider can read it'),
    [`${path}[].id`]: id,
    [`${path}[].tool_use_id`]: id,
    [`${path}[].caller.tool_id`]: id,
    [`${path}[](tool_use|server_tool_use|mcp_tool_use).name`]: name,
    [`${path}[](tool_use|server_tool_use|mcp_tool_use).input.**`]: toolCall,
    [`${path}[].citations[].cited_text`]: said,
    [`${path}[].citations[].title`]: said,
    [`${path}[].citations[].document_title`]: said,
    [`${path}[].citations[].source`]: said,
    [`${path}[].citations[].url`]: address
  }
}

export const messagesRequestTexts = new PlaceTable({
  ...marks,
  model: unseen('chooses the route'),
  system: text,
  'system[].text': text,
  ...messageBlocks('messages[].content'),
  'tools[].name': name,
  'tools[].description': text,
  'tools[].input_schema.**': jsonSchema,
  'tools[].input_examples.**': freeText,
  'tool_choice.name': name,
  'thinking.display': anyWord,
  'output_config.effort': anyWord,
  'output_config.format.schema.**': jsonSchema,
  'output_format.schema.**': jsonSchema,
  'context_management.**': fixed,
  'thread.**': fixed,
  'container.**': fixed,
  'mcp_servers[].**': fixed,
  'mcp_servers[].authorization_token': unseen('a secret of the tool server'),
  stop_sequences: text,
  'stop_sequences[]': text,
  'cache.**': unseen('compared here, and not sent'),
  'fallbacks.**': unseen('names of models'),
  'tags.**': text,
  'guardrails.**': unseen('names of guards'),
  'metadata.user_id': text
})

/** The blocks of an answer, or of the message at the start of a stream. */
function message (path: string): Places {
  return {
    [`${path}id`]: unseen('names the answer'),
    [`${path}model`]: unseen('the model that answers'),
    [`${path}stop_reason`]: anyWord,
    [`${path}usage.service_tier`]: anyWord,
    ...messageBlocks(`${path}content`)
  }
}

export const messagesAnswerTexts = new PlaceTable({
  ...marks,
  ...message(''),
  stop_sequence: text,
  'stop_details.explanation': text,
  'stop_details.category': unseen('one of a few words')
})

const [start, delta] = ['(content_block_start).content_block', '(content_block_delta).delta']

/** Stream events. */
export const messagesFrameTexts = new PlaceTable({
  ...marks,
  ...message('(message_start).message.'),
  ...Object.fromEntries(
    Object.entries(messageBlocks('')).flatMap(([path, place]) =>
      path === '' ? [] : [[start + path.slice('[]'.length), place]]
    )
  ),
  [`${delta}.**`]: unlistedPiece,
  [`${delta}(text_delta).text`]: pieceOf(text),
  [`${delta}(thinking_delta).thinking`]: pieceOf(fixed),
  [`${delta}(input_json_delta).partial_json`]: pieceOf(toolArguments),
  [`${delta}(citations_delta).citation.**`]: text,
  '(message_delta).delta.stop_reason': anyWord,
  '(message_delta).delta.stop_sequence': text,
  '(message_delta).delta.stop_details.explanation': text,
  '(message_delta).delta.stop_details.category': unseen('one of a few words'),
  '(error).error.message': text,
  '(error).error.details.error_code': unseen('one of a few words'),
  '(error).request_id': unseen('names the call')
})

/** A text belongs to a block; all end with the message. */
export const messagesTextOf: DirectTexts['textOf'] = (type, { index, delta }) => {
  const block = `${textOfValue(index)};`
  switch (type) {
    case 'content_block_stop': return { key: '', ends: block }
    case 'message_delta':
    case 'message_stop': return { key: '', ends: '' }
    default: return { key: block + textOfValue(objectOf(delta)?.['type']) }
  }
}
