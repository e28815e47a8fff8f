/**
 * Some models need up to 40 % more tokens than estimated. If the count is too low, clients compact their
 * conversations too late.
 */
const margin = 1.2
const tokensPerMessage = 4
/** Tokens of the preamble that introduces tools to a model. */
const tokensForTools = 350

/**
 * Returns an estimated prompt count.
 *
 * @param estimated tokens of its texts and tools
 */
export function countOf (
  estimated: number,
  {
    messages,
    tools = []
  }: { readonly messages: readonly unknown[], readonly tools?: readonly unknown[] | undefined }
): number {
  return (
    Math.ceil(estimated * margin) +
    tokensPerMessage * messages.length +
    (tools.length > 0 ? tokensForTools : 0)
  )
}
