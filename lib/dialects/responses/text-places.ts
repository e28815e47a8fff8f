/** Where requests and answers of this dialect hold text. */

import { textOfValue } from '../../json/type-guards.ts'
import { modelTexts } from '../../chat/model-texts.ts'
import {
  PlaceTable,
  address,
  fixed,
  freeResult,
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
import type { DirectTexts } from '../dialect.ts'

const id = unseen('names an item, or pairs a call with its result')
const name = unseen('the name of a tool, by which its calls are found')
const word = unseen('one of a few words')
const token = unseen('single tokens, which are not asked for where a guard may change the answer')

const anywhere: Places = {
  ...kindWords,
  '**.encrypted_content': mayBePacked(unseen('only the provider can read it'), {
    model: unseen('the model that answered'),
    ...kindWords,
    ...signedPart('blocks[]'),
    ...signedPart('details[]'),
    'callFields.extra_content.**': unseen('belongs to the call, such as a signature')
  }),
  '**.file_id': unseen('the id of a file at the provider'),
  '**.container_id': unseen('the id of a container at the provider'),
  '**.id': id,
  '**.call_id': id,
  '**.item_id': id,
  '**.approval_request_id': id,
  '**.status': word
}

/** The parts of a message or of a tool result. */
function parts (path: string, said: TextPlace): Places {
  return {
    [path]: said,
    [`${path}[].text`]: said,
    [`${path}[].refusal`]: said,
    [`${path}[].image_url`]: address,
    [`${path}[].detail`]: word,
    [`${path}[].file_data`]: media,
    [`${path}[].file_url`]: address,
    [`${path}[].filename`]: said,
    [`${path}[].annotations.**`]: said,
    [`${path}[].logprobs.**`]: token
  }
}

/** An item of a conversation, in a request or an answer. OpenAI's hosted tools are listed separately. */
function item (path: string): Places {
  return {
    ...parts(`${path}.content`, text),
    [`${path}(function_call|mcp_call|mcp_approval_request).arguments`]: toolArguments,
    [`${path}(custom_tool_call).input`]: toolCall,
    ...parts(`${path}(function_call_output|custom_tool_call_output).output`, toolResult),
    [`${path}(mcp_call).output`]: toolResult,
    [`${path}(mcp_call).error.**`]: toolResult,
    [`${path}(reasoning).summary[].text`]: text,
    [`${path}(reasoning).content.**`]: text,
    [`${path}(mcp_approval_response).reason`]: text,
    [`${path}.phase`]: anyWord,
    [`${path}.name`]: name,
    [`${path}.namespace`]: name,
    [`${path}.server_label`]: name,
    [`${path}(additional_tools|tool_search_output|mcp_list_tools).tools[].name`]: name,
    [`${path}(additional_tools|tool_search_output|mcp_list_tools).tools[].**`]: text,
    ...tools(`${path}(additional_tools|tool_search_output).tools`),
    [`${path}(mcp_list_tools).tools[].input_schema.**`]: jsonSchema,
    [`${path}(mcp_list_tools).tools[].annotations.**`]: freeText,
    [`${path}(mcp_list_tools).error`]: text,
    [`${path}(web_search_call).action.**`]: toolCall,
    [`${path}(web_search_call).results.**`]: toolResult,
    [`${path}(file_search_call).queries[]`]: toolCall,
    [`${path}(file_search_call).results.**`]: toolResult,
    [`${path}(file_search_call).results[].attributes.**`]: freeResult,
    [`${path}(code_interpreter_call).code`]: toolCall,
    [`${path}(code_interpreter_call).outputs.**`]: toolResult,
    [`${path}(image_generation_call).result`]: media,
    [`${path}(image_generation_call).revised_prompt`]: text,
    [`${path}(local_shell_call|shell_call|computer_call).action.**`]: toolCall,
    [`${path}(computer_call).actions.**`]: toolCall,
    [`${path}(computer_call).pending_safety_checks[].message`]: text,
    [`${path}(computer_call_output).output.image_url`]: { ...toolResult, base64: 'in_url' },
    [`${path}(computer_call_output).acknowledged_safety_checks[].message`]: text,
    [`${path}(tool_search_call).arguments.**`]: toolCall,
    [`${path}(apply_patch_call).operation.**`]: toolCall,
    [`${path}(local_shell_call_output|shell_call_output|apply_patch_call_output).output.**`]: toolResult
  }
}

function tools (path: string): Places {
  return {
    [`${path}[].name`]: name,
    [`${path}[].description`]: text,
    [`${path}[].parameters.**`]: jsonSchema,
    [`${path}[].format.**`]: text,
    [`${path}[](namespace).tools[].name`]: name,
    [`${path}[](namespace).tools[].description`]: text,
    [`${path}[](namespace).tools[].parameters.**`]: jsonSchema,
    [`${path}[](namespace).tools[].format.**`]: text,
    [`${path}[](mcp).server_label`]: name,
    [`${path}[](mcp).server_url`]: fixed,
    [`${path}[](mcp).server_description`]: text,
    [`${path}[](mcp).headers.**`]: unseen('secrets of the tool server'),
    [`${path}[](mcp).authorization`]: unseen('a secret of the tool server'),
    [`${path}[](mcp).allowed_tools.**`]: name,
    [`${path}[](mcp).require_approval.**`]: name
  }
}

/** Request fields that an answer repeats. */
const repeated: Places = {
  model: unseen('chooses the route, or names the model that answers'),
  instructions: text,
  'instructions.**': text,
  previous_response_id: id,
  ...tools('tools'),
  'tool_choice.**': name,
  'text.format.name': name,
  'text.format.description': text,
  'text.format.schema.**': jsonSchema,
  'text.format.type': word,
  'text.verbosity': word,
  'reasoning.effort': word,
  'reasoning.summary': word,
  'reasoning.context': anyWord,
  'reasoning.mode': anyWord,
  'metadata.*': text,
  user: text,
  safety_identifier: text,
  prompt_cache_key: text,
  prompt_cache_retention: anyWord,
  'cache.**': unseen('compared here, and not sent'),
  'fallbacks.**': unseen('names of models'),
  'tags.**': text,
  service_tier: word,
  truncation: anyWord
}

export const responsesRequestTexts = new PlaceTable({
  ...anywhere,
  ...repeated,
  input: text,
  ...item('input[]'),
  'conversation.**': id,
  'prompt.id': id,
  'prompt.version': anyWord,
  'prompt.**': fixed,
  'prompt.variables.**': freeText,
  'mcp_servers.**': fixed,
  'mcp_servers[].headers.**': unseen('secrets of the tool server'),
  'mcp_servers[].authorization': unseen('a secret of the tool server'),
  'mcp_servers[].credentials.**': unseen('secrets of the tool server'),
  'mcp_servers.headers.**': unseen('secrets of the tool server'),
  'mcp_servers.authorization': unseen('a secret of the tool server'),
  'mcp_servers.credentials.**': unseen('secrets of the tool server'),
  'credentials.**': unseen('secrets of tool servers'),
  ...modelTexts
})

/** A list of items: those of stored responses that a request continues. */
export const responsesItemTexts = new PlaceTable({ ...anywhere, ...item('[]') })

/** A response, at a path that is empty or ends in a dot. */
function response (path: string): Places {
  return Object.fromEntries(Object.entries({
    ...repeated,
    'text.**': text,
    'tools[].**': text,
    ...item('output[]'),
    'output[].**': fixed,
    object: word,
    'error.message': text,
    'error.code': word,
    'incomplete_details.reason': word,
    'tool_loop_stopped.reason': anyWord
  }).map(([name, place]) => [path + name, place]))
}

/** A complete answer, or the result of a compaction. */
const responsesAnswerTexts = new PlaceTable({ ...anywhere, ...response('') })

/** Stream events. */
const responsesFrameTexts = new PlaceTable({
  ...anywhere,
  ...response('response.'),
  ...item('item'),
  ...Object.fromEntries(
    Object.entries(parts('', text)).flatMap(([path, place]) =>
      path === '' ? [] : [[`part${path.slice('[]'.length)}`, place]]
    )
  ),
  'delta.**': unlistedPiece,
  '(response.output_text.delta|response.refusal.delta).delta': pieceOf(text),
  '(response.output_text.done).text': text,
  '(response.refusal.done).refusal': text,
  '(response.output_text.delta|response.output_text.done).logprobs.**': token,
  '(response.output_text.annotation.added).annotation.**': text,
  '(response.reasoning_summary_text.delta|response.reasoning_text.delta).delta': pieceOf(text),
  '(response.reasoning_summary_text.done|response.reasoning_text.done).text': text,
  '(response.reasoning_summary_part.added|response.reasoning_summary_part.done).part.text': text,
  '(response.function_call_arguments.delta|response.mcp_call_arguments.delta).delta': pieceOf(toolArguments),
  '(response.function_call_arguments.done|response.mcp_call_arguments.done).arguments': toolArguments,
  '(response.custom_tool_call_input.delta).delta': pieceOf(toolCall),
  '(response.custom_tool_call_input.done).input': toolCall,
  '(response.code_interpreter_call_code.delta).delta': pieceOf(toolCall),
  '(response.code_interpreter_call_code.done).code': toolCall,
  '(response.shell_call_command.added|response.shell_call_command.done).command': toolCall,
  '(response.shell_call_command.delta).delta': pieceOf(toolCall),
  '(response.shell_call_output_content.delta).delta.stdout': pieceOf(toolResult, 'stdout'),
  '(response.shell_call_output_content.delta).delta.stderr': pieceOf(toolResult, 'stderr'),
  '(response.shell_call_output_content.done).output.**': toolResult,
  '(response.apply_patch_call_operation_diff.delta).delta': pieceOf(toolCall),
  '(response.apply_patch_call_operation_diff.done).diff': toolCall,
  '(response.image_generation_call.partial_image).partial_image_b64': media,
  name,
  obfuscation: unseen('random characters'),
  '(error).message': text,
  '(error).code': word
})

/** A text belongs to a part of an item; all end with the response. */
const responsesTextOf: DirectTexts['textOf'] = (
  type,
  {
    output_index: index,
    item_id: id,
    content_index: content,
    summary_index: summary,
    command_index: command
  }
) => {
  const item = `${textOfValue(index ?? id)};`
  if (/^response\.(?:completed|incomplete|failed|cancelled)$/.test(type)) return { key: '', ends: '' }
  if (type === 'response.output_item.done') return { key: '', ends: item }
  const part = `${item}${textOfValue(content ?? summary ?? command)};`
  if (type.endsWith('part.done')) return { key: '', ends: part }
  const key = part + type.replace(/\.(?:delta|done)$/, ';')
  return { key, ends: type.endsWith('.done') ? key : undefined }
}

export const responsesDirectTexts: DirectTexts = {
  answer: responsesAnswerTexts,
  frames: responsesFrameTexts,
  textOf: responsesTextOf
}

/** The items of a stored response, as listed. */
export const responsesListTexts: DirectTexts = {
  ...responsesDirectTexts,
  answer: new PlaceTable({ ...anywhere, ...item('data[]') })
}
