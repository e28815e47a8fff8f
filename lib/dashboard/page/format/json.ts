/**
 * Prints JSON for people: a line for each member. One that is cut off is printed up to there, any other text
 * as it stands.
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
