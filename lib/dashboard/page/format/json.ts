/**
 * Formats JSON for people, one member per line. JSON that is cut off is formatted up to the cut, other text
 * is unchanged.
 */
export function formatJson (text: string): string {
  if (!/^\s*[[{]/.test(text)) return text
  let [result, depth] = ['', 0]
  const newLine = (): string => `\n${'  '.repeat(depth)}`
  for (const [token] of text.matchAll(/"(?:[^"\\]|\\.)*(?:"|$)|[[\]{},:]|[^\s[\]{},:"]+/gs)) {
    if (token === '}' || token === ']') {
      depth = Math.max(0, depth - 1)
      result = /[[{]\s*$/.test(result.slice(-200)) ? result.trimEnd() + token : result + newLine() + token
    } else if (token === '{' || token === '[') {
      depth++
      result += token + newLine()
    } else {
      result += token === ',' ? token + newLine() : token === ':' ? ': ' : token
    }
  }
  return result
}
