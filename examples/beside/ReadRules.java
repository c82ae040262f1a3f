import java.nio.file.Files;
import java.nio.file.Path;
import org.drools.drl.parser.DrlParser;
import org.kie.internal.builder.conf.LanguageLevelOption;

/** Read a file of rules as Drools does, and say which rules it holds. */
public class ReadRules {
  public static void main(String[] arguments) throws Exception {
    var parser = new DrlParser(LanguageLevelOption.DRL6);
    var read = parser.parse(true, Files.readString(Path.of(arguments[0])));
    for (var problem : parser.getErrors()) {
      System.out.println(problem.getMessage());
    }
    if (read != null) {
      read.getRules().forEach(rule -> System.out.println("rule " + rule.getName()));
    }
  }
}
