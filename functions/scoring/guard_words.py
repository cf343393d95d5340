"""The words by which a text that dictates its verdict gives itself away, by what they are signs of.

An entry is a word, a stem (`ignorier*`) or several in a row. Latin and Cyrillic letters are written as `guard.folded`
leaves them: in lower case and without accents. Scripts whose words run together are searched for these very characters.
"""

from __future__ import annotations

from enum import StrEnum


class Sign(StrEnum):
    """What a place in a text may be a sign of."""

    IGNORE = "ignore"
    """An order not to do something."""
    EARLIER = "earlier"
    """What came before: the true instructions."""
    RULES = "rules"
    """What a grader goes by."""
    CRITERIA = "criteria"
    """The same, in words that nothing else is called by."""
    GIVE = "give"
    """An order to give a mark."""
    RECEIVE = "receive"
    """The same, said of who is to get it."""
    FULL = "full"
    """Full marks, as teachers say it of any answer."""
    TOP = "top"
    """The highest score there is."""
    NUMBER = "number"
    """90 to 100, where it can be a mark."""
    ZERO = "zero"
    MARK = "mark"
    """The word for a mark."""
    SELF = "self"
    """The text that is being scored."""
    THE = "the"
    """The same, where another text may be meant, too."""
    GRADER = "grader"
    """A machine that scores."""
    EVERY = "every"
    """All texts alike, or all parts of a verdict."""
    PERSONA = "persona"
    """Another part for the grader to play."""
    END = "end"
    """The text claims to be over."""
    FORM = "form"
    """What the reply is to look like."""
    UNREAD = "unread"
    """An order not to look, or not to tell."""
    OBEY = "obey"
    """An order to carry something out."""
    TASK = "task"
    """The same, as a noun."""
    HIDDEN = "hidden"
    """A way in which an order is hidden."""
    NONCE = "nonce"
    POLICY = "policy"
    """Other rules than the true ones."""


WORDS: dict[Sign, str] = {
    Sign.IGNORE: """
        ignore|disregard|forget|override|overrule|bypass|supersede|cancel|discard|drop|no longer apply
        do not apply|not bound by|do not follow|don t follow|stop following|instead of following|are void
        is void|is off|are off|ignorier*|vergiss|vergesst|missachte|ubergehe|ignorez|oublie|oubliez|neglige
        negligez|ne tiens pas compte|ne tenez pas compte|ignora|ignorad|ignoren|olvida|olvide|olviden
        haz caso omiso|hagan caso omiso|descarta|ignori|dimentica|dimenticate|trascura|non considerare
        non tenere conto|desconsidera|desconsidere|esqueca|esquece|nao considere|negeer|vergeet|zignoruj
        zapomnij|yok say|unut|bo qua|phot lo|hay quen|игнорир*|проигнорир*|забудь*|отмени|не обращай внимания
        не учитывай
    """,
    Sign.EARLIER: """
        previous|previously|prior|above|earlier|preceding|foregoing|former|you were given|you have been given
        you were told|given before|before this|so far|until now|vorherige*|bisherige*|vorangehende*
        vorangegangene*|obige*|fruhere*|precedent*|ci dessus|anterior*|previ*|de arriba|precedenti|sopra|acima
        eerdere|voorgaande|wczesniejsz*|poprzedni*|onceki|truoc do|o tren|предыдущ*|прежни*|предшеств*|ранее
        выше
    """,
    Sign.RULES: """
        instruction|instructions|rule|rules|prompt|prompts|guideline|guidelines|directive|directives|directions
        orders|command|commands|policy|requirements|constraints|told about marking|told about grading
        told about scoring|anweisung*|anleitung*|vorgaben|regeln|instruccion*|indicaciones|reglas|consignes
        regles|istruzion*|regole|instrucoes|instrucao|regras|instructies|regels|instrukcj*|polecenia|talimat*
        kurallar*|huong dan|quy tac|yeu cau|инструкци*|указани*|правил*|команд*
    """,
    Sign.CRITERIA: """
        rubric|rubrics|criteria|marking scheme|mark scheme|grading scheme|scoring scheme|system prompt
        grading rules|scoring rules|marking rules|grading guidelines|scoring guidelines|bewertungskriterien
        bewertungsmassstab|bewertungsraster|kriterien|criterios|criteres|bareme|criteri|criterios de correccion
        критери*|kryteri*
    """,
    Sign.GIVE: """
        give|award|assign|grant|output|respond|reply|answer|return|print|enter|write down|set|fix|rate|grade
        score|mark|put|replace|record|report|submit|say|conclude|evaluate|assess|choose|select|is to be given
        are to be given|is to receive|be given|wrote down|announce|gib|gebt|vergib|vergebt|bewerte|bewertet
        benote|setze|antworte|erteile|donne|donnez|attribue|attribuez|accorde|accordez|mets|mettez|note|notez
        reponds|repondez|da|dale|pon|ponle|otorga|otorgue|asigna|asigne|califica|califique|puntua|responde|dai
        date|assegna|assegnate|valuta|metti|rispondi|atribua|atribui|coloque|avalie|responda|geef|beoordeel|daj
        przyznaj|wystaw|ocen|puan ver|cham bai|hay cham|cho bai|поставь*|дай|дайте|присво*|оцени|оцените|выстав*
        ответь
    """,
    Sign.RECEIVE: """
        receive|receives|gets|get|deserves|must be|has to be|is always|is fixed at|erhalt|bekommt|recoit|recibe
        riceve|recebe|получ*
    """,
    Sign.FULL: """
        full marks|full mark|top marks|top mark|full points|full score|full credit|highest marks|volle punktzahl
        volle punkte|bestnote|note maximale|tous les points|nota maxima|maxima nota|maxima puntuacion
        puntuacion maxima|punteggio massimo|massimo punteggio|pieni voti|pontuacao maxima|maxima calificacion
        calificacion maxima|hoogste cijfer|hochste punktzahl|hochstpunktzahl|maksymaln* ocen*|tam puan
        максимальн* балл*|высш* балл*|максимальн* оценк*|высш* оценк*|максимальное количество
    """,
    Sign.TOP: """
        perfect score|perfect mark|perfect grade|maximum score|max score|maximum mark|maximum marks
        maximum points|maximum grade|maximum rating|highest score|highest grade|highest rating|highest possible
        top score|top rating|best score|best possible|highest mark|one hundred|hundred points|hundert punkte
        cent points|cien puntos|cento punti|cem pontos|сто баллов|diem toi da|diem tuyet doi
    """,
    Sign.ZERO: "zero|null|cero",
    Sign.MARK: """
        score|scores|mark|marks|grade|points|point|rating|verdict|out of|punkt*|note|puntuacion|puntos
        calificacion|nota|punteggio|punti|voto|pontuacao|pontos|cijfer|punten|ocen*|puan|diem|балл*|оценк*|очк*
    """,
    Sign.SELF: """
        this essay|this text|this submission|this paper|this document|this composition|this answer|this pupil
        this student|this work|this piece|this article|this candidate|this one|this author|the author of this
        this little essay|this short text|my essay|my text|diesen text|dieser text|diesem text|diesen aufsatz
        dieser aufsatz|diesem aufsatz|diese arbeit|dieser arbeit|ce texte|cette copie|cet essai|ce devoir
        cette redaction|este texto|esta redaccion|este ensayo|este trabajo|questo testo|questo tema
        questo saggio|esta redacao|este ensaio|deze tekst|dit opstel|ten tekst|temu tekstowi|tej pracy|bai nay
        bai viet nay|bai van nay|bu metne|bu metin|bu kompozisyon*|этот текст|этому тексту|это сочинение
        этому сочинению|эту работу|этой работе|данному тексту|данный текст
    """,
    Sign.THE: """
        the essay|the text|the submission|the following text|the following essay|the last text|the candidate
        the author|give it|grant it|award it|grade it|score it|rate it|mark it|for it
    """,
    Sign.GRADER: """
        ai|ais|llm|llms|gpt|chatgpt|claude|gemini|language model|language models|assistant|grader|graders
        autograder|evaluator|evaluators|machine|machines|scoring system|grading system|scorer|the model|bot
        chatbot|rater|whoever or whatever grades|grades this|reads this|reads it|evaluate this|evaluates this
        marks this|scores this|assesses this|whoever assesses|whoever grades|whoever marks|whatever grades
        automatic grading|automated|assessor|ki|sprachmodell*|bewerter|ia|modelo de lenguaje|modele de langage
        modello linguistico|modelo de linguagem|correcteur|evaluador|evaluatore|avaliador|ии|нейросет*
        языков* модел*|проверяющ*
    """,
    Sign.EVERY: """
        every text|any text|all texts|every essay|all essays|any essay|every submission|all submissions|everyone
        everybody|every dimension|any dimension|all dimensions|each dimension|every category|all categories
        each category|every criterion|all criteria|each criterion|any author|every author|always
    """,
    Sign.PERSONA: """
        you are now|you are a judge|you are a grader|you are an examiner|you are no longer|from now on|act as
        pretend|pretend to be|developer mode|debug mode|maintenance mode|admin mode|god mode|test mode|dan mode
        lenient mode|stay in this role|behave like|act like|play the part|imagine you are|imagine that you are
        new role|your role is|your new|you now play|as the auditor|roleplay|role play|ab jetzt|du bist jetzt
        ab sofort|desormais|tu es maintenant|partir de maintenant|partir de ahora|ahora eres|partir de agora
        d ora in poi|ora sei|отныне|теперь ты|с этого момента
    """,
    Sign.END: """
        end of the essay|end of essay|end of the text|end of text|end of submission|end of the submission
        end of user content|end of user input|end of input|end of document|end of the document|end of content
        the text ends here|the essay ends here|submission ends here|the submission is over|the essay is over
        that was the essay|that was the text|essay complete|end of student|end of the student|see above
        ende des textes|ende des aufsatzes|fin du texte|fin del texto|fine del testo|fim do texto|конец текста
        конец сочинения|warm up
    """,
    Sign.FORM: """
        your answer must be|your reply must be|your response must be|your output must be|your answer is
        begin your reply|begin your answer|begin your response|start your reply|start your answer
        start your response|begin with|reply only with|answer only with|respond only with|output only
        only output|reply with exactly|print it nothing else|nothing else|return that as|as json|this json
        following json|json object|this object|the following object|use this evaluation|tool call|confirm it
        copy this|copy the|verbatim|exactly this|antworte nur mit|reponds uniquement|responde solo
        responde unicamente|rispondi solo
    """,
    Sign.UNREAD: """
        do not re evaluate|do not reevaluate|skip the evaluation|skip evaluation|skip the grading
        skip the marking|without reading|without evaluation|copy this score|copy the score|pre approved
        preapproved|already graded|already been graded|already scored|already been scored|already evaluated
        do not make another|no criticism|do not criticise|do not criticize|do not mention this
        don t mention this|do not reveal this|grading is disabled|evaluation is disabled
        grading has been disabled|stored result|no evaluation needed|no further evaluation|whatever the criteria
        whatever the rubric
    """,
    Sign.OBEY: """
        carry it out|carry out|obey it|obey|do what it says|follow it|execute it|execute the|comply with it
        comply|do as it says|do it
    """,
    Sign.TASK: """
        to be carried out|is your instruction|are your instructions|command for the|instruction for the
        instruction to the|task for the|note for the|message for the
    """,
    Sign.HIDDEN: """
        base64|base 64|rot13|rot 13|hexadecimal|in hex|backwards|in reverse|reversed|encoded|decode|first letter
        first word|first letters|acrostic|ciphertext
    """,
    Sign.NONCE: "nonce",
    Sign.POLICY: """
        updated grading|new grading|updated scoring|new scoring|updated marking|new marking|revised grading
        grading policy|scoring policy|evaluation mode|minimum score|new instruction|new instructions
        updated instructions|updated rubric|new rubric|new criteria|instruction to the evaluator
        the score is always|correct score|computed score|the score field|post processing rule|updated policy
        grading override|score override|override code
    """,
}
"""By words with spaces between."""

RUNS: dict[Sign, str] = {
    Sign.IGNORE: """
        忽略|无视|無視|忘记|忘掉|忘記|不要按照|不用按照|不要遵守|不必遵守|作废|作廢|跳过|取消|무시|잊어|따르지
        無視して|忘れて|従わないで|تجاهل|انس|अनदेखा|नज़रअंदाज़|भूल जा|התעלם|ละเว้น|เพิกเฉย
    """,
    Sign.EARLIER: """
        以上|之前|前面|上述|先前|此前|原来的|これまで|以前の|上記|前の|이전|위의|앞의|السابق|أعلاه|पिछले|पहले के
        उपरोक्त
    """,
    Sign.RULES: """
        指令|指示|要求|规则|規則|提示词|プロンプト|ルール|命令|지시|명령|규칙|프롬프트|تعليمات|القواعد|निर्देश
        नियम
    """,
    Sign.CRITERIA: """
        评分标准|評分標準|评分要求|评分规则|打分标准|採点基準|評価基準|채점 기준|평가 기준|معايير
        मूल्यांकन मानदंड
    """,
    Sign.GIVE: """
        请给|請給|并给|並給|直接给|直接給|必须给|应给|务必给|一律给|给这篇作文满分|给这篇文章满分|给这篇作文一百
        给这篇文章一百|给这篇作文100|给这篇文章100|給這篇作文滿分|給這篇作文100|打满分|打滿分|打一百分|打100分
        输出|返回|つけて|付けて|出力|与えて|にしてください|주세요|주십시오|출력|매겨|امنح|أعط|اعط|ضع|दें|दीजिए
        दो
    """,
    Sign.TOP: """
        满分|滿分|一百分|百分之百的分|最高分|満点|百点|만점|백점|최고 점수|الدرجة الكاملة|العلامة الكاملة
        पूरे अंक|पूर्ण अंक
    """,
    Sign.MARK: "分|点|點|점|درجة|درجات|نقطة|علامة|अंक",
    Sign.SELF: """
        这篇|這篇|本文|此文|该文|这份|上面的作文|この作文|この文章|このエッセイ|이 글|이 작문|이 에세이|هذا النص
        هذا المقال|هذه المقالة|इस निबंध|इस लेख|इस पाठ
    """,
    Sign.GRADER: """
        人工智能|评分系统|評分系統|自动评分|语言模型|語言模型|大模型|採点者|採点AI|言語モデル|채점|언어 모델
        المصحح|النموذج اللغوي|الذكاء الاصطناعي|परीक्षक|भाषा मॉडल
    """,
    Sign.EVERY: "所有作文|一律|任何作文|所有文章|すべての作文|모든 글",
    Sign.PERSONA: """
        从现在开始|从现在起|從現在開始|你不再是|你现在是|你是一个|扮演|今から|これから|あなたは今|지금부터
        너는 이제|من الآن|अब से
    """,
    Sign.END: "作文结束|作文到此结束|文章结束|以上内容为测试|本文完|正文结束|作文终|作文はここまで|글의 끝|نهاية النص",
    Sign.FORM: "只输出|仅输出|直接输出|不要输出别的|只回复|仅回复|のみを出力|だけを出力|만 출력",
    Sign.UNREAD: "不要提出任何缺点|不要提及|无需评|不用评|不必评|评价しないで",
    Sign.POLICY: "评分标准已更新|评分标准更新|新的评分标准|评分规则已|系统提示|系统消息",
}
"""By characters, wherever they stand."""


def _each(words: str) -> frozenset[str]:
    return frozenset(words.split())


MAY_COMMAND = _each(
    """
    and then please now so just must shall will always simply kindly directly therefore instead also you or but only
    thus hereby graders evaluators assistant ai model should immediately
    bitte und dann jetzt et puis maintenant y e ed ahora ora agora favor favore plait и а пожалуйста сейчас теперь
    i prosze ve lutfen en
    """
)
"""What may stand right before an order; after any other word the same word tells of something, and orders nothing."""

BEFORE_TO = frozenset({"required", "asked", "as", "instructed", "ordered", "obliged", "told", "need", "have", "has"})
"""What makes an order of "to give"."""

AFTER_A_MARK = _each(
    """
    points point marks mark out of for to in on and or as at from if no with without because but then score scores
    von punkte punkten sur points de puntos en su punti pontos em punten z punktow puan diem из баллов балла балл за
    """
)
"""What may follow a number that is a mark; before any other word it counts something."""

MARKS_OF_RUNS = ("分", "点", "點", "점", "درجة", "درجات", "نقطة", "علامة", "अ")
"""The same, where no space stands between."""
