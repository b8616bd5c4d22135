// Finds the topic of a request to write something: 茉莉花茶 in "请写一篇关于茉莉花茶的文章".

const wrappings = [
  /^(?:请|麻烦|帮我|帮忙|给我|为我|我想要?|我要|我们?需要)+/u,
  /^(?:撰写|起草|生成|创作|制定|写|做|来)(?:一下|一?[篇份个段])?/u,
  /^(?:关于|有关|围绕|以)/u,
  /(?:的|为主题的?)?(?:文章|文档|报告|短文|作文|大纲|提纲|说明文?|介绍|稿子?|科普)$/u,
  /^(?:please|could you|can you|i(?:'d| would) like you to|kindly)\s+/iu,
  /^(?:write|draft|compose|prepare|create|generate|outline|give me)\s*:?\s+(?:me\s+)?/iu,
  /^(?:an?|the|some|short|long|brief|detailed)\s+(?=.*\b(?:about|on)\b)/iu,
  /^(?:(?:short|long|brief|detailed)\s+)?(?:article|document|report|essay|paper|outline|text|piece|post|guide|introduction)\s+(?:about|on|of|to|for)\s+/iu,
  /^(?:topic|subject|outline|about|主题|题目|大纲)\s*[:：]\s*/iu,
]

export function topicOf(request: string) {
  let topic = request.slice(0, 1000).replace(/\s+/g, ' ').trim()
  for (const wrapping of wrappings) {
    const bare = topic
      .replace(/[\s。．.!！?？,，;；]+$/u, '')
      .replace(wrapping, '')
      .trim()
    if (bare !== '') topic = bare
  }
  return [...topic].slice(0, 80).join('')
}
