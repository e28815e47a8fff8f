/** Efforts of reasoning, from none to the most. Which of them a model takes is its trait `efforts`. */
export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
export type Effort = typeof efforts[number]
